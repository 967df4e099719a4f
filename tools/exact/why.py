"""Where the instructions of a request go, in the terminal and as pictures."""

from itertools import pairwise

from tools.exact import curves, parts


def table(chosen, cell, counted):
    """Return lines: thousands of instructions a request of `cell`, of each part and Program."""
    where = {one: counted[one.name][cell.name].where for one in chosen
             if cell.name in counted[one.name]}
    columns = [one.parts() for one in where.values()]
    widths = [max(8, len(short(one)) + 2) for one in where]

    def row(title, figures):
        return title.ljust(28) + "".join(
            f"{figure / 1e3:{width}.1f}" for figure, width in zip(figures, widths))
    lines = [f"Where they go, in thousands: {cell.name}, {cell.says}",
             " " * 28 + "".join(short(one).rjust(width) for one, width in zip(where, widths))]
    for name in parts.NAMES:
        figures = [sum(column[name]) for column in columns]
        if any(figure >= 50 for figure in figures):
            lines.append(row(name, figures))
    cells = [counted[one.name][cell.name] for one in where]
    return lines + [
        row("of these, in workers", [sum(one.cost("worker")) for one in cells]),
        row("and in their end", [sum(one.cost("ending")) for one in cells]),
        row("in soft interrupts of these", [sum(both[1] for both in one.values())
                                            for one in columns]),
        row("and in those of the load", [sum(one.load.values()) for one in where.values()])]


def short(program):
    """Return the head of a Program's column."""
    return program.title.partition("_")[0]


def tables(chosen, cells, counted):
    """Return the lines of the tables of all cells."""
    return [line for cell in cells for line in [*table(chosen, cell, counted), ""]]


def draw(chosen, cells, counted, folder):
    """Write a picture for each server, and for each two neighbours, into `folder` (a Path); return
    {name of a file: what it shows}."""
    # pylint: disable-next=import-outside-toplevel     # altair, which only this needs
    from tools.exact import pictures
    of = {one.name: {cell.name: counted[one.name][cell.name].where for cell in cells
                     if cell.name in counted[one.name]} for one in chosen}
    drawn = {f"parts_{one.name}.svg": (pictures.of_server(one.title, of[one.name]),
                                       f"What the instructions of {one.title} are for")
             for one in chosen}
    for one, other in pairwise(chosen):
        both = {name: (where, of[other.name][name]) for name, where in of[one.name].items()
                if name in of[other.name]}
        drawn[f"from_{one.name}_to_{other.name}.svg"] = (
            pictures.difference(one.title, other.title, both),
            f"What {other.title} needs more or less than {one.title}")
    for name, (svg, _) in drawn.items():
        (folder / name).write_text(svg, encoding="utf-8")
    return {name: title for name, (_, title) in drawn.items()}


def draw_curve(chosen, curve, costs, folder):
    """Write a picture of a curve into `folder` (a Path): {name of a Program: {size: Counted}}.
    Return {name of its file: what it shows}."""
    # pylint: disable-next=import-outside-toplevel
    from tools.exact import pictures
    svg = pictures.of_curve(curve, {one.name: (one.title, curves.totals(costs[one.name]))
                                    for one in chosen if one.name in costs})
    (folder / f"curve_{curve.name}.svg").write_text(svg, encoding="utf-8")
    return {f"curve_{curve.name}.svg": f"{curve.says}, in thousands of instructions"}
