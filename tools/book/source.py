"""The annotated source: a page for each C file, one for each pair of
neighbours with a note at each difference, and definitions that pages quote.

On a file's page, a comment stands next to the code that follows it. Each name
that the collection defines leads to its definition, the first use of a system
call on a page to its man page, and each function says where it is used.
The notes of a pair are docs/source/NN-NN.toml: [[note]] with `at`, a text in
the first line of a difference, and `text`.
"""

import difflib
import html
import itertools
import re
import tomllib

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CLexer

from tools.kit import TOP

SEVEN = sorted(path.parent.name for path in TOP.glob("0[1-9]_*/main.c"))
PAIRS = sorted(path.stem for path in (TOP / "docs" / "source").glob("*.toml"))
DEFINITION = re.compile(
    r"^(?:#define (?P<macro>\w+)|(?:struct|enum|union) (?P<type>\w+) \{"
    r"|(?!return|else|typedef|#)[a-z][\w *]*?\b\*?(?P<name>\w+)"
    r"(?:\(|(?:\[\w*\])? = |;$))")
CALLS = frozenset("""accept4 bind clock_gettime close connect epoll_create1
    epoll_ctl epoll_wait fcntl fork fstat getpid getppid getsockopt kill listen
    mmap open openat pipe2 poll ppoll prctl pread read recv send sendfile
    sendmsg setsockopt shutdown sigaction sigprocmask socket timerfd_create
    wait4 waitpid write writev""".split())
MAN = "https://man7.org/linux/man-pages/man2/{0}.2.html"


class SourceError(Exception):
    """A difference has no note, a note no difference, or nothing has the name
    of a quotation."""


def files():
    """Return the paths of all C files, relative to the top."""
    return [*(f"{name}/main.c" for name in SEVEN), *sorted(
        str(path.relative_to(TOP)) for ending in ("h", "c")
        for path in (TOP / "common").rglob(f"*.{ending}"))]


def page_name(path):
    """Return the name of a file's page, below source/."""
    return "source/" + re.sub(r"[/.]", "-", path)


def quote(path, name):
    """Return what defines `name` in a C file, with the comment directly above:
    a function, `struct NAME` or `enum NAME`. Raises SourceError.

    It relies on `make format`: a definition begins at the left margin, and
    its closing brace, too, stands there alone."""
    head = f"{name} " if " " in name else rf"[a-z][^\n;]*\b{name}\([^;{{}}]*"
    found = re.search(rf"(?:^/\*(?:(?!\*/).)*\*/\n)?^{head}\{{\n.*?^\}};?",
                      (TOP / path).read_text(encoding="utf-8"), re.M | re.S)
    if not found:
        raise SourceError(f"{path} does not define {name}")
    return found[0]


class Index:
    """Where each name is defined, and which functions use it."""

    def __init__(self):
        self.texts = {path: (TOP / path).read_text(encoding="utf-8")
                      for path in files()}
        self.defined, self.users, self.types = {}, {}, set()
        for path, text in self.texts.items():
            inside = None
            for number, line in enumerate(text.splitlines(), 1):
                # What a member points to is another function than the one of its name.
                for name in set(re.findall(r"(?<![.>])\b\w+(?=\()", line)):
                    if inside and name != inside and line.startswith(" "):
                        self.users.setdefault(name, {})[inside] = path
                found = DEFINITION.match(line)
                if not found:
                    continue
                name = found["macro"] or found["type"] or found["name"]
                if found["type"]:
                    self.types.add(name)
                # Of a function, the body; its prototype comes second.
                if name not in self.defined or not line.endswith(";"):
                    self.defined[name] = path, number
                if found["name"] and not line.endswith(";"):
                    inside = name

    def link(self, name, path):
        """Return the address of a definition, from a page below source/."""
        where, number = self.defined[name]
        page = "" if where == path else page_name(where)[7:] + ".html"
        return f"{page}#L{number}"


def _code(text, path, index, seen, first):
    """Return C as HTML with links; its lines are numbered from `first`."""
    made = highlight(text, CLexer(stripnl=False), HtmlFormatter(nowrap=True))

    def link(match):
        name, before = match[2], match.string[:match.start()]
        member = before.endswith((">.</span>", "&gt;</span>"))
        if name in index.defined and not member and (
                before.endswith('struct</span><span class="w"> </span>')
                or name not in index.types):
            return (f'<a class="{match[1]}" href="{index.link(name, path)}">'
                    f"{name}</a>")
        if name in CALLS and name not in seen:
            seen.add(name)
            return (f'<a class="{match[1]}" href="{MAN.format(name)}" '
                    f'title="{name}(2), the man page">{name}</a>')
        return match[0]
    made = re.sub(r'<span class="(n|nf|nc|k)">(\w+)</span>', link, made)
    return "\n".join(f'<span id="L{number}">{line}</span>' for number, line
                     in enumerate(made.rstrip("\n").split("\n"), first))


def _chunks(text):
    """Yield (comment, code, number of its first line) of a C file."""
    parts, number = re.split(r"^(/\*.*?\*/)\n", text, flags=re.M | re.S), 1
    for comment, code in zip(["", *parts[1::2]], parts[::2]):
        number += comment.count("\n") + bool(comment)
        if comment or code.strip():
            yield (comment, code.strip("\n"),
                   number + len(code) - len(code.lstrip("\n")))
        number += code.count("\n")


def _prose(comment):
    """Return a C comment as HTML: paragraphs, and drawings as they are."""
    text = re.sub(r"^ ?\*/?[ ]?|^/\* ?| ?\*/$", "", comment, flags=re.M)
    parts = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        part = html.escape(part.rstrip())
        if re.search(r"^ {2,}", part, re.M):
            parts.append(f"<pre>{part}</pre>")
        elif words := re.sub(r"^-{5,}|-{5,}$", "", part).strip():   # without the rule
            parts.append(f"<p>{words}</p>")
    return "".join(parts)


def file_page(path, index):
    """Return the HTML body of a file's page."""
    rows, seen = [], set()
    for comment, code, first in _chunks(index.texts[path]):
        names = [found["name"] for line in code.splitlines()
                 if (found := DEFINITION.match(line)) and found["name"]]
        users = {user: where for name in names
                 for user, where in index.users.get(name, {}).items()}
        used = ", ".join(f'<a href="{index.link(user, path)}">{user}</a>'
                         for user in sorted(users) if user in index.defined)
        rows.append(
            '<div class="chunk"><div class="said">' + _prose(comment)
            + (f'<p class="run-note">Used by {used}.</p>' if used else "")
            + '</div><div class="highlight"><pre>'
            + _code(code, path, index, seen, first) + "</pre></div></div>")
    return f"<h1>{path}</h1>" + "".join(rows)


def _differences(old, new):
    """Return [("same" or "changed", lines of old, lines of new)]. Differences
    with fewer than four lines between them are one; the head, up to the last
    #include, is the first."""
    parts = []
    head = max(n for n, line in enumerate(old) if "#include" in line)
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(
            None, old, new, autojunk=False).get_opcodes():
        same = kind == "equal" and (a1 - a0 >= 4 and a0 >= head or not parts)
        if not same and parts and parts[-1][0] == "changed":
            parts[-1][1].extend(old[a0:a1])
            parts[-1][2].extend(new[b0:b1])
        else:
            parts.append(("same" if same else "changed", old[a0:a1], new[b0:b1]))
    return parts


def pair_page(pair):
    """Return (title, HTML body) of two neighbours side by side.

    Raises SourceError when a difference has no note or a note no difference.
    """
    names = [next(one for one in SEVEN if one.startswith(number))
             for number in pair.split("-")]
    old, new = ((TOP / name / "main.c").read_text(encoding="utf-8")
                .splitlines() for name in names)
    path = TOP / "docs" / "source" / f"{pair}.toml"
    notes = tomllib.loads(path.read_text(encoding="utf-8"))["note"]
    left, rows, gap = list(notes), [], []
    for kind, *sides in _differences(old, new):
        here = "\n".join(itertools.chain(*sides))
        said = [note for note in left if kind != "same" and note["at"] in here]
        rows += ['<tr class="note"><td colspan="2">'
                 f"{html.escape(note['text'])}</td></tr>" for note in said]
        left = [note for note in left if note not in said]
        if kind == "changed" and not said:
            gap.append(here[:70])
        rows += [f'<tr class="{kind}">' + "".join(
            f"<td><pre>{html.escape(side)}</pre></td>" for side in line)
            + "</tr>" for line in itertools.zip_longest(*sides, fillvalue="")]
    if gap or left:
        raise SourceError(f"{path.name}: no note for {gap}; no difference has "
                          f"{[note['at'] for note in left]}")
    title = f"{names[0]} and {names[1]}"
    head = "".join(f"<th>{name}/main.c</th>" for name in names)
    return title, (f'<h1>{title}</h1><table class="pair"><tr>{head}</tr>'
                   + "".join(rows) + "</table>")


def pages(app):
    """Yield what html-collect-pages wants: (name, context, template)."""
    if app.builder.name != "html":      # the slides do not have them
        return
    index = Index()
    listed = "".join(
        f'<li><a href="{page_name(path)[7:]}.html">{path}</a></li>'
        for path in files())
    made = {"source/index": ("Annotated source", "<h1>Annotated source</h1>"
                             f"<ul>{listed}</ul>")}
    made |= {page_name(path): (path, file_page(path, index))
             for path in files()}
    made |= {f"source/{pair}": pair_page(pair) for pair in PAIRS}
    for name, (title, body) in made.items():
        yield name, {"title": title, "body": body}, "page.html"
