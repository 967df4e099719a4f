"""Measured and published figures, and expressions over them.

    guestbook.epoll[1000].cpu_us                 a figure of one cell
    max(guestbook.epoll.rate)                    a series: one figure a cell
    answer["new connections"].epoll[100].cpu_us  another variant than the first
    guestbook.epoll[100].calls.accept4           system calls a request
    guestbook.epoll[100].lowest                  the rate of its slowest round; highest
    published.guestbook.epoll[1000]              what the publication says
    published.hello.memory[10000].go             a table of it
    awake.guestbook.epoll[100].cpu_us            the run with cores that never sleep
    study.flat["guestbook"].epoll[15000].cpu_us  a study
    source.options.DEFAULT_THREADS               a constant of common/
    sum(busy >= 95 for busy in guestbook.forking.server_busy)       at how many points

An expression is Python's, with no names but these and FUNCTIONS. What is not
there raises FigureError: nothing is ever filled in as zero.
"""

import functools
import re
from pathlib import Path

from tools.bench import experiments
from tools.exact import curves
from tools.kit import TOP, servers
from tools.report import summaries
from tools.results import rundir
from tools.stats import comparisons, stats
from tools.stats.bottleneck import core_was_limit
from tools.stats.steady import steadied

# What a page of the guestbook makes a system call for. hiredis asks Redis with read and write;
# with all but these, it connects: a connection to a client needs none.
PURPOSES = {
    "connection": "accept4 shutdown close",
    "request": "recvfrom recvmsg sendto sendmsg writev sendfile sendfile64",
    "Redis": "write read ioctl socket connect fcntl setsockopt getsockopt",
    "waiting": "poll ppoll epoll_wait epoll_pwait epoll_ctl futex",
    "processes, threads, memory": """clone clone3 wait4 exit exit_group rt_sigprocmask
        rt_sigreturn rt_sigaction set_robust_list rseq prctl getppid getpid kill madvise mmap
        munmap mprotect brk""",
    "files": "open openat openat2 fstat newfstatat statx pread64 lseek"}
FUNCTIONS = {"max": max, "min": min, "abs": abs, "sum": sum, "len": len}


class FigureError(Exception):
    """A figure does not exist, or the expression is wrong; the text says which."""


class Names(dict):
    """Things by name or by number: `names.epoll` is `names["epoll"]`."""

    def __missing__(self, name):
        raise FigureError(f"there is no {name!r}; there are: " + ", ".join(map(str, self)))

    __getattr__ = dict.__getitem__


class Later(Names):
    """Names of {name: a function that makes its value}, called when the name is first used."""

    def __init__(self, makers):
        super().__init__()
        self.__dict__["makers"] = Names(makers)

    def __missing__(self, name):
        self[name] = self.makers[name]()
        return self[name]


class Run:
    """A folder that `make compare` or `make study` left. FigureError when it is none.

    summary     its middles and comparisons, see report.summaries
    rows        its samples.csv: a dictionary for each run of a cell
    env         its env.json: machine, commit, settings
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        try:
            self.summary = summaries.read(folder)
            self.env = rundir.read_json(self.folder / "env.json")
            self.rows = rundir.read_rows(str(self.folder / "samples.csv"))
        except (OSError, ValueError) as error:
            raise FigureError(f"{folder} is not a run: {error}") from None
        self.experiments = Names((one["name"], one) for one in self.summary["experiments"])


def _cells(experiment):
    """Return the Names of an experiment of a summary: variants, servers, x and
    figures. Of a server, a figure's name is the list of it at all x; the
    servers of the first variant need not name that."""
    counted = {}    # by the hooks of a study
    for one in experiment.get("counted", ()):
        counted.setdefault((one["variant"], one["server"], one["x"]),
                           Names())[one["figure"]] = one["median"]
    variants = Names()
    for curve in experiment["curves"]:
        calls = experiment["calls"].get(f"{curve['server']}/{curve['variant']}")
        cells = Names()
        for point in curve["points"]:
            cells[point["x"]] = cell = Names(
                {key: value for key, value in point["values"].items() if value is not None},
                **{key: point.get(key) for key in ("x", "limit", "evidence", "burst")})
            if core_was_limit(point["values"]) and cell.get("cpu_us"):
                cell["can_do"] = 1e6 / cell["cpu_us"]
            if point["rate"]:
                cell["lowest"], cell["highest"] = (point["rate"][end] for end in ("low", "high"))
            if calls:
                cell["calls"] = Names(calls)
            told = counted.get((curve["variant"], curve["server"], point["x"]))
            if told:
                cell["counted"] = told
        keys = {key for cell in cells.values() for key in cell}
        variants.setdefault(curve["variant"], Names())[curve["server"]] = Names(
            cells | {key: [cell[key] for cell in cells.values() if key in cell] for key in keys})
    return Names(variants.get(experiment["variants"][0], {}) | variants)


def _published():
    """Return what was published: by experiment and system, the rate at each x
    and the list of all; `best` where that is all that is known; and the tables
    by name, by what begins a row, and by heading."""
    return Names({one.name: Names(
        {name: Names(series, rate=list(series.values()))
         for name, series in one.published.series.items()},
        best=Names(one.published.best),
        **{table["name"]: Names((row[0], Names(zip(table["heads"][1:], row[1:])))
                                for row in table["rows"]) for table in one.published.tables})
        for one in experiments.all_experiments() if one.published})


def _constants():
    """Return the enumerators that have a number, by module of common/ and by server."""
    found = Names()
    modules = [(path, path.stem) for path in sorted((TOP / "common").rglob("*.[ch]"), reverse=True)]
    mains = [(TOP / one.folder / "main.c", one.name) for one in servers.ARCHITECTURES]
    for path, name in modules + mains:
        found.setdefault(name, Names()).update(
            (name, int(value) * int(factor or 1)) for name, value, factor in
            reversed(re.findall(r"\b(\w+) = (\d+)(?: \* (\d+))?\b",
                                path.read_text(encoding="utf-8"))))
    return found


def everything(run, studies, awake=None):
    """Return the Names that pages may use: those of a Run, of `studies`, {name: Run}, and of the
    Run `awake`, whose cores never slept, if there is one."""
    def experiments_of(one):
        return {name: _cells(experiment) for name, experiment in one.experiments.items()}

    def of_study(name):
        return _cells(studies[name].summary["experiments"][0])

    return Names(FUNCTIONS, published=_published(), source=_constants(), **experiments_of(run),
                 awake=Names(experiments_of(awake) if awake else {}),
                 study=Later({name.replace("-", "_"): functools.partial(of_study, name)
                              for name in studies}))


def counted(table):
    """Return {name: Names} of what the exact machine counted, a results.Table: `exact`,
    `exact_curve`, and `exact_slope`, the instructions that each unit of a curve adds."""
    def of_cost(cost):
        return Names({**cost.told, "total": cost.total, "parts": Names(
            {name: sum(both) for name, both in cost.parts().items()})})

    def nested(costs):
        return Names((key, of_cost(cost)) for key, cost in costs.items())
    slopes = {curve: {name: curves.slope({size: cost.total for size, cost in by_size.items()})[0]
                      for name, by_size in by_server.items()}
              for curve, by_server in table.curves.items()}
    return {
        "exact": Names((name, nested(by_cell)) for name, by_cell in table.cells.items()),
        "exact_curve": Names((curve, Names((name, nested(by_size))
                                           for name, by_size in by_server.items()))
                             for curve, by_server in table.curves.items()),
        "exact_slope": Names((curve, Names(by_server)) for curve, by_server in slopes.items())}


def evaluate(text, names):
    """Return the value of an expression. Raises FigureError."""
    try:    # globals, too: a comprehension knows no others
        return eval(text.strip(), {**names, "__builtins__": {}},    # pylint: disable=eval-used
                    names)
    except (FigureError, SyntaxError, TypeError, ValueError, NameError,
            ZeroDivisionError, AttributeError) as error:
        raise FigureError(f"{text.strip()}: {error}") from None


def show(value, digits=None):
    """Return a number as pages write it: with `digits` behind the point, by
    default as many as give three significant ones."""
    if isinstance(value, str):
        return value
    if digits is None:
        size = abs(value)
        digits = 0 if size >= 100 or value == int(value) else 1 if size >= 10 else 2
    return f"{value:,.{digits}f}"


def known(value, digits):
    """Return the same, and of None a dash."""
    return "–" if value is None else show(value, digits)


def thousands(spent):
    """Return thousands of the instructions of {"user", "kernel"}, and in parentheses those in user
    mode; of None a dash."""
    return f"{(spent['user'] + spent['kernel']) / 1e3:.1f} ({spent['user'] / 1e3:.1f})" \
        if spent else "–"


def compare(runs, text):
    """Return how two servers compare at one point, as stats.compare() says it, and "words". `text`
    is "guestbook 100 prethreaded preforking", and then perhaps a figure (rate, else cpu_us) and
    the name of a variant; with "|" between them, names may have blanks. `runs`: {experiment or
    study: Run}. Raises FigureError."""
    try:
        name, x, server, base, *more = map(str.strip, text.split("|")) \
            if "|" in text else text.split(maxsplit=5)
        metric, variant = (*more, "cpu_us")[0], " ".join(more[1:])
        raw = [row for row in runs[name].rows if row["experiment"] == name]
        cell, plain = (comparisons.by_round(rows, metric)[variant, int(x)]
                       for rows in (steadied(raw)[0], raw))
        found = comparisons.compared(cell, plain, server, base,
                                     bool(runs[name].env.get("looks", {}).get(name)))
        return {**found, "metric": metric, "words": stats.said(found, *comparisons.METRICS[metric])}
    except (ValueError, KeyError, TypeError) as error:
        raise FigureError(f"{text}: cannot be compared: {error}") from None


def than(runs, text):
    """Return the same for a sentence that continues with the name of the base: "a page in 04 takes
    47 % more CPU time (43 % to 52 %) than one in 05". Of CPU times only. Raises FigureError."""
    found = compare(runs, text)
    if found["metric"] not in ("cpu_us", "cpu_user_us"):
        raise FigureError(f"{text}: a sentence compares CPU times only")
    what = "CPU time" if found["metric"] == "cpu_us" else "CPU time in user code"
    if found["verdict"] in (stats.FEW, stats.UNKNOWN):
        return f"an amount of {what} that {found['rounds']} rounds cannot tell from that of"
    low, ratio, high = found["low"], found["ratio"], found["high"]
    if found["verdict"] == stats.EQUAL:
        return f"the same {what} (within {100 * stats.SAME:.0f} %) as"
    if ratio >= 2:
        return f"{ratio:.1f} times the {what} ({low:.1f} to {high:.1f}) of"
    ends = sorted(100 * abs(end - 1) for end in (low, high))
    return (f"{100 * abs(ratio - 1):.0f} % {'more' if found['verdict'] == stats.MORE else 'less'} "
            f"{what} ({ends[0]:.0f} to {ends[1]:.0f} %) than")


def by_purpose(told):
    """Return [(purpose or system call, is it a purpose, figures)] of several servers' {call: calls
    a request}: each of PURPOSES with its sum, then its calls, most frequent first. Without calls
    that each server makes less than once in twenty requests."""
    often = {call for one in told for call in one if call != "all"
             and max(each.get(call, 0) for each in told) >= 0.05}
    rows = []
    for purpose, words in {**PURPOSES, "others": " ".join(
            sorted(often.difference(*map(str.split, PURPOSES.values()))))}.items():
        found = sorted(often & {*words.split()}, key=lambda call: (
            -sum(one.get(call, 0) for one in told), call))
        if found:
            rows += [(purpose, True, [sum(one.get(call, 0) for call in found) for one in told]),
                     *((call, False, [one.get(call, 0) for one in told]) for call in found)]
    return rows
