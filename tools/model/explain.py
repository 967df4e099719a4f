"""What the model predicts, and where it is wrong, in sentences."""

from tools.model.model import crowded, demands
from tools.stats.bottleneck import FOREIGN
from tools.stats.sentences import number

PART = 0.25     # an error from which a sentence says what the model lacks
MORE = 1.2      # times the CPU for a page that the model expects
LIMITS = {"server": "the server's core", "load": "the load tool",
          "shared": "the core of load tool and Redis", "redis": "Redis",
          "workers": "the number of workers", "clients": "too few clients",
          "parent": "the thread that makes workers"}


def limit(setting, answer):
    """Return in words what limits the rate of an Answer."""
    if answer.limit == "server" and setting.used_cores > 1:
        return f"the server's {setting.used_cores} cores"
    if answer.limit == "shared" and not answer.busy["redis"]:
        return LIMITS["load"]
    return LIMITS[answer.limit]


def why(costs, setting, answer):
    """Return the sentence that explains an Answer."""
    need = demands(costs, setting)
    server, redis, tool, making = (f"{number(1e6 * seconds)} us" for seconds in (
        need.server, need.redis, need.load, need.serial))
    cores = f"{setting.used_cores} cores" if setting.used_cores > 1 else "one core"
    page = "While others wait, a kept connection is closed after one page. A page" \
        if crowded(setting) else "A page"
    occupied = "its only worker is" if setting.slots == 1 \
        else f"all {setting.slots:,.0f} workers are"
    both = f"the load tool ({tool}) and Redis ({redis}) share a core" \
        if need.redis else f"the load tool takes {tool}"
    held = number(1000 * (need.server + need.redis + need.delay))
    batches = " It takes less when commands of more clients come together, which the model" \
              " leaves out." if setting.server in ("poll", "epoll") else ""
    return {
        "server": f"{page} takes {server} of the server's CPU, so {cores} can do "
                  f"{number(setting.used_cores / need.server)} a second.",
        "shared": f"For a page, {both}; the server takes {server}, so a faster server would "
                  "hardly change the rate.",
        "load": f"The load tool takes {tool} for a page, on {setting.machines:,} machines.",
        "redis": f"Redis takes {redis} for a page, and uses one core only.{batches}",
        "workers": f"A page holds a worker for {held} ms or more and {occupied} occupied; the "
                   "other clients wait in the accept queue.",
        "parent": f"Making workers takes {making} a page of one thread, which gets no more than "
                  "a core and has to wait for it as the workers do.",
        "clients": "No core is fully busy: the clients have too few pages under way.",
    }[answer.limit]


def lacks(setting, answer, row):
    """Return what the model lacks where the Answer for a `setting` is wrong by more than PART, as
    the second half of a sentence; "" where it is not. `row` is what was measured: columns of
    samples.csv, of a run or medians."""
    if not row.get("rate") or abs(answer.rate / row["rate"] - 1) <= PART:
        return ""

    def grew(key, station, cores=1):
        """Return whether a page took more CPU time than predicted."""
        expected = answer.busy[station] * cores / answer.rate
        return (row.get(key) or 0) / 100 / row["rate"] > MORE * expected > 0

    if row.get("overflows"):
        return "the accept queue overflowed, and clients tried again after a second"
    if (row.get("foreign") or 0) >= FOREIGN:
        return "other programs used the server's core"
    if answer.rate > row["rate"]:
        if grew("load_busy", "load"):
            return "the load tool took more CPU for a page than with few clients"
        if grew("redis_busy", "redis"):
            return "Redis took more CPU for a page than with few clients"
        if grew("server_busy", "server", setting.used_cores):
            return "a page cost the server more than with few clients, as memory no longer " \
                   "fits the caches"
        return "cores slept while clients waited: load tool and server took turns"
    if crowded(setting):
        return "a kept connection carried more pages before the server closed it"
    return "a page cost less than with few clients: many were ready together and shared wake-ups"
