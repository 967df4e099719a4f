"""Pages of the annotated source that show two neighbours side by side, with a
note at each difference.

The notes of a pair are docs/source/NN-NN.toml: [[note]] with `at`, a text in a
line of a difference, next to which the note stands, and `text`. A page is a
grid of pieces: lines of the old file, of the new one, and perhaps a note. The
lines of a piece are all the same in both, or all changed.
"""

import difflib
import html
import itertools
import re
import tomllib

from tools.kit import TOP

SEVEN = sorted(path.parent.name for path in TOP.glob("0[1-9]_*/main.c"))
PAIRS = sorted(path.stem for path in (TOP / "docs" / "source").glob("*.toml"))
APART = 4       # equal lines between two differences that are not one
HOW = ('<p class="run-note">Lines that differ are tinted, and in them the words that differ are '
       'tinted darker. More of the <a href="index.html">annotated source</a>.</p>')
ALIKE = 0.6     # from here on, a changed line is the old one with other words


class PairError(Exception):
    """A difference has no note, or a note no difference."""


def _alike(old, new):
    """Return how alike the words of two lines are, 0 to 1."""
    matcher = difflib.SequenceMatcher(None, re.findall(r"\w+|\S", old),
                                      re.findall(r"\w+|\S", new), False)
    return matcher.ratio() if matcher.quick_ratio() >= ALIKE else 0


def _matched(old, new):
    """Return rows (old line or None, new line or None) of a difference, in
    which lines that are alike stand next to each other: the best way from the
    end to the start (dynamic programming), then from the start to the end."""
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    same = [[_alike(one, other) for other in new] for one in old]
    for i, j in itertools.product(reversed(range(len(old))), reversed(range(len(new)))):
        both = best[i + 1][j + 1] + same[i][j] if same[i][j] >= ALIKE else 0
        best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
    rows, i, j, alone = [], 0, 0, ([], [])
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and same[i][j] >= ALIKE and \
                best[i][j] == best[i + 1][j + 1] + same[i][j]:
            rows += [*itertools.zip_longest(*alone), (old[i], new[j])]
            i, j, alone = i + 1, j + 1, ([], [])
        elif j == len(new) or (i < len(old) and best[i][j] == best[i + 1][j]):
            alone[0].append(old[i])
            i += 1
        else:
            alone[1].append(new[j])
            j += 1
    return [*rows, *itertools.zip_longest(*alone)]


def differences(old, new):
    """Return [(changed, rows)] of two lists of lines. Differences with fewer than APART lines
    between them are one; the head, up to the last #include, is the first."""
    parts = []
    head = max(n for n, line in enumerate(old) if "#include" in line)
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        equal = kind == "equal"
        same = equal and (a1 - a0 >= APART and a0 >= head or not parts)
        rows = [*zip(old[a0:a1], new[b0:b1])] if equal else _matched(old[a0:a1], new[b0:b1])
        if not same and parts and parts[-1][0]:
            parts[-1][1].extend(rows)
        else:
            parts.append((not same, rows))
    return parts


def marked(old, new):
    """Return two lines as HTML in which the words that differ are marked. Of
    two that are not alike, or of one line alone, none is."""
    if None in (old, new) or _alike(old, new) < ALIKE:
        return tuple(html.escape(line or "") for line in (old, new))
    sides, words = ([], []), [re.findall(r"\s+|\w+|.", line) for line in (old, new)]
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, *words, False).get_opcodes():
        for made, some in zip(sides, (words[0][a0:a1], words[1][b0:b1])):
            text = html.escape("".join(some))
            made.append(text if kind == "equal" else re.sub(
                r"\S(.*\S)?", lambda found: f"<mark>{found[0]}</mark>", text))
    # Of neighbours with a blank between them, one mark.
    return tuple(re.sub(r"</mark>( ?)<mark>", r"\1", "".join(made)) for made in sides)


def _pieces(rows, notes):
    """Yield (changed, rows, note or None) of a difference: a piece ends where
    lines that are equal begin or end, and around the line that has a note."""
    def key(row):
        at = next((note for note in notes if any(note["at"] in (line or "") for line in row)), None)
        if at:
            notes.remove(at)
        return row[0] != row[1], at["text"] if at else None
    for (changed, note), some in itertools.groupby(rows, key):
        yield changed, [*some], note


def _cells(changed, rows, number):
    """Return the HTML of a piece without its note."""
    sides = [marked(*row) if changed else tuple(map(html.escape, row)) for row in rows]
    kind = "changed" if changed else "same"
    return "".join(
        f'<pre class="{side} {kind}" style="--row:{2 * number}">' + "".join(
            f'<span{"" if row[place] is not None else " class=none"}>{line[place]}</span>'
            for row, line in zip(rows, sides)) + "</pre>"
        for place, side in enumerate(("old", "new")))


def page(pair):
    """Return (title, HTML body) of two neighbours side by side. Raises PairError."""
    names = [next(one for one in SEVEN if one.startswith(number)) for number in pair.split("-")]
    old, new = ((TOP / name / "main.c").read_text(encoding="utf-8").splitlines() for name in names)
    path = TOP / "docs" / "source" / f"{pair}.toml"
    left = tomllib.loads(path.read_text(encoding="utf-8"))["note"]
    made, notes, gap = [], [], []
    for different, rows in differences(old, new):
        before = len(left)
        for changed, some, note in _pieces(rows, left if different else []):
            made.append(_cells(changed, some, len(made) + 1))
            if note:
                notes.append((len(made) - 1, note))
        if different and len(left) == before:
            gap.append("\n".join(filter(None, itertools.chain(*rows)))[:70])
    if gap or left:
        raise PairError(f"{path.name}: no note for {gap}; no difference has "
                        f"{[note['at'] for note in left]}")
    ends = [*(place for place, _ in notes[1:]), len(made)]
    for (place, text), end in zip(notes, ends):
        made[place] += (f'<p class="note" style="--row:{2 * place + 2};--end:{2 * end + 2}">'
                        f"{html.escape(text.strip())}</p>")
    title = f"{names[0]} and {names[1]}"
    head = "".join(f'<p class="{side}" style="--row:1"><a href="{name}-main-c.html">'
                   f"{name}/main.c</a></p>" for side, name in zip(("old", "new"), names))
    return title, f'<h1>{title}</h1>{HOW}<div class="pair">{head}{"".join(made)}</div>'
