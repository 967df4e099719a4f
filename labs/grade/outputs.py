"""Ways to say a grade: on the terminal; files for other programs later."""

from dataclasses import dataclass

from labs.grade.lab import LEVELS, Test


@dataclass(frozen=True)
class Result:
    """How one test ended. `seen` and `expected` are "" when it passed."""

    test: Test
    passed: bool
    seen: str = ""
    expected: str = ""
    seconds: float = 0.0

    @property
    def points(self):
        """The points that it gives."""
        return self.test.points if self.passed else 0


def terminal(lab, results):
    """Return the report as text: points per level, then what failed."""
    lines = [f"{lab.folder.name}: {lab.title}"]
    for level in LEVELS:
        mine = [r for r in results if r.test.level == level]
        if not mine:
            continue
        lines.append(f"\n{level}: {sum(r.points for r in mine)} of "
                     f"{sum(r.test.points for r in mine)} points")
        for r in mine:
            lines.append(f"  {'ok  ' if r.passed else 'FAIL'} {r.points:3d}/"
                         f"{r.test.points:<3d} {r.test.name.replace('_', ' ')}")
            if not r.passed:
                lines += [f"         seen:     {r.seen}",
                          f"         expected: {r.expected}",
                          f"         hint:     {r.test.hint}"]
    lines.append(f"\n{sum(r.points for r in results)} of "
                 f"{sum(t.points for t in lab.tests)} points")
    return "\n".join(lines)
