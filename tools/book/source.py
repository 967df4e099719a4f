"""The annotated source: a page for each C file, and definitions that pages quote.

On a file's page, a comment stands next to the code that follows it, or above it when it has a
drawing. Each name that the collection defines leads to its definition, the first use of a system
call on a page to its man page, and each function says where it is used.
"""

import html
import itertools
import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CLexer

from tools.book import pairs
from tools.kit import TOP

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


# What looks like code and is none: comments, and texts.
NO_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


class SourceError(Exception):
    """Nothing has the name of a quotation."""


def files():
    """Return the paths of all C files, relative to the top."""
    return [*(f"{name}/main.c" for name in pairs.SEVEN), *sorted(
        str(path.relative_to(TOP)) for ending in ("h", "c")
        for path in (TOP / "common").rglob(f"*.{ending}"))]


def page_name(path):
    """Return the name of a file's page, below source/."""
    return "source/" + re.sub(r"[/.]", "-", path)


def quote(path, name):
    """Return what defines `name` in a C file, with the comment directly above: a function, `struct
    NAME` or `enum NAME`. Raises SourceError. It relies on `make format`: a definition begins at the
    left margin, and its closing brace, too, stands there alone."""
    head = f"{name} " if " " in name else rf"[a-z][^\n;]*\b{name}\([^;{{}}]*"
    found = re.search(rf"(?:^/\*(?:(?!\*/).)*\*/\n)?^{head}\{{\n.*?^\}};?",
                      (TOP / path).read_text(encoding="utf-8"), re.M | re.S)
    if not found:
        raise SourceError(f"{path} does not define {name}")
    return found[0]


class Index:
    """Where each name is defined, and what uses each function: a function, or a table that holds
    its address."""

    def __init__(self):
        self.texts = {path: (TOP / path).read_text(encoding="utf-8") for path in files()}
        self.defined = {}       # {(path, or "" if others see it; name): place}
        self.types, self.users = set(), {}      # {place: {(name, path)}}
        # With as many lines, and each word in its line.
        plain = {path: NO_CODE.sub(lambda found: "\n" * found[0].count("\n"),
                                   text) for path, text in self.texts.items()}
        for path, text in plain.items():
            for number, line in enumerate(text.splitlines(), 1):
                self._define(path, number, line)
        for path, text in plain.items():
            # A table, up to the line that ends it, or a function.
            for found in re.finditer(r"^(?:[a-z][^\n;(]* = (?:.*?); *$|[a-z][^\n;=]*\((?:[^;]*?)"
                                     r"\n\{\n.*?^\})", text, re.M | re.S):
                self._use(path, found[0])

    def _define(self, path, number, line):
        """Note what a line at the left margin defines. A type, a macro and what
        is static belong to their C file, so several may have one name."""
        found = DEFINITION.match(line)
        if not found:
            return
        name = found["macro"] or found["type"] or found["name"]
        if found["type"]:
            self.types.add(name)
        own = path.endswith(".c") and (not found["name"] or line.startswith("static "))
        key = path if own else "", name
        # Of a function, the body; its prototype comes second.
        if key not in self.defined or not line.endswith(";"):
            self.defined[key] = path, number

    def _use(self, path, text):
        """Note what the function or table in `text` uses: names that it calls,
        or whose address it takes, but no member and no variable of its own."""
        head = DEFINITION.match(text.partition("\n")[0])
        if not head or not head["name"]:
            return
        for name in set(re.findall(r"(?<![\w.>])(\w+)\(|[=(,?:&{]\s*(\w+)(?=\s*[,;:)}])", text)):
            name = name[0] or name[1]
            place = self.find(name, path)
            own = re.search(rf"\b(?!return)\w+[ *]+{name}\s*[=;,)\[]", text)
            if place and name != head["name"] and not own:
                self.users.setdefault(place, set()).add((head["name"], path))

    def find(self, name, path):
        """Return (file, line) of what a name means in a file, or None."""
        return self.defined.get((path, name)) or self.defined.get(("", name))

    def link(self, name, path, at=None):
        """Return the address of what a name means in a file, from the page of
        the file `at`, by default the same."""
        where, number = self.find(name, path)
        page = "" if where == (at or path) else page_name(where)[7:] + ".html"
        return f"{page}#L{number}"

    def used_by(self, names, path):
        """Return links to what uses the `names` of a file; of several that have one name, with
        their files."""
        users = set().union(*(self.users.get(self.find(name, path), ()) for name in names))
        called = [user for user, _ in users]
        return ", ".join(
            f'<a href="{self.link(user, where, path)}">{user}</a>'
            + (f" in {where}" if called.count(user) > 1 else "") for user, where in sorted(users))


def _code(text, path, index, seen, first):
    """Return C as HTML with links; its lines are numbered from `first`."""
    made = highlight(text, CLexer(stripnl=False), HtmlFormatter(nowrap=True))

    def link(match):
        name, before = match[2], match.string[:match.start()]
        member = before.endswith((">.</span>", "&gt;</span>"))
        if index.find(name, path) and not member and (
                before.endswith('struct</span><span class="w"> </span>')
                or name not in index.types):
            return (f'<a class="{match[1]}" href="{index.link(name, path)}">{name}</a>')
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
            yield (comment, code.strip("\n"), number + len(code) - len(code.lstrip("\n")))
        number += code.count("\n")


def _prose(comment):
    """Return a C comment as HTML: paragraphs, headings, and drawings, lists
    and tables as they are. These are indented."""
    text = re.sub(r"^ ?\*/?[ ]?|^/\* ?| ?\*/$", "", comment, flags=re.M)
    made = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        rule = re.fullmatch(r"-{5,}(.*)", part.strip())
        if rule:
            if rule[1]:
                made.append(f"<h2>{html.escape(rule[1].strip())}</h2>")
            continue
        for drawn, lines in itertools.groupby(
                part.splitlines(), lambda line: line.startswith("  ")):
            kind = "pre" if drawn else "p"
            made.append(f"<{kind}>{html.escape(chr(10).join(lines))}</{kind}>")
    return "".join(made)


def file_page(path, index):
    """Return the HTML body of a file's page."""
    rows, seen = [], set()
    for comment, code, first in _chunks(index.texts[path]):
        used = index.used_by([found["name"] for line in code.splitlines() if (
            found := DEFINITION.match(line)) and found["name"]], path)
        said = _prose(comment)
        kind = "chunk drawn" if "<pre>" in said else "chunk"
        rows.append(
            f'<div class="{kind}"><div class="said">{said}'
            + (f'<p class="run-note">Used by {used}.</p>' if used else "")
            + '</div><div class="highlight"><pre>'
            + _code(code, path, index, seen, first) + "</pre></div></div>")
    return f"<h1>{path}</h1>" + "".join(rows)


def pages(app):
    """Yield what html-collect-pages wants: (name, context, template)."""
    if app.builder.name != "html":      # the slides do not have them
        return
    index = Index()
    listed = "".join(
        f'<li><a href="{page_name(path)[7:]}.html">{path}</a></li>' for path in files())
    made = {"source/index": ("Annotated source", f"<h1>Annotated source</h1><ul>{listed}</ul>")}
    made |= {page_name(path): (path, file_page(path, index)) for path in files()}
    made |= {f"source/{pair}": pairs.page(pair) for pair in pairs.PAIRS}
    for name, (title, body) in made.items():
        yield name, {"title": title, "body": body}, "page.html"
