"""The page that `make exact` leaves: report.html, with tables and pictures, in one file that can
be read without a network.

    path = report.make(folder, "exact.json", {"parts_epoll.svg": "What 07's are for"})
"""

import base64
import os
from pathlib import Path

from tools.exact import curves, parts, results
from tools.kit import TOP

STYLE = TOP / "tools/report/assets"     # of the report of a comparison
SEEN = 50                               # instructions a request: a part with fewer has no row


def thousands(instructions):
    """Return how the page shows a number of instructions."""
    return f"{instructions / 1e3:,.1f}"


def costs(table, cells):
    """Return rows: a server, and its total (user) in each cell."""
    return [[results.title(name), *(
        f"{thousands(by_cell[cell].total)} ({thousands(by_cell[cell].user)})"
        if cell in by_cell else "–" for cell in cells)] for name, by_cell in table.cells.items()]


def where(table, cell):
    """Return (head, rows): a part, and what each server needs of it; no rows without WHY."""
    those = {name: by_cell[cell].parts() for name, by_cell in table.cells.items()
             if cell in by_cell and "parts" in by_cell[cell].told}
    rows = [[part, *(thousands(sum(of[part])) for of in those.values())] for part in parts.NAMES
            if any(sum(of[part]) >= SEEN for of in those.values())]
    return ["part", *map(results.title, those)], rows


def roles(table, cell):
    """Return rows: a server, the instructions of each role, and the width of its windows."""
    found = {name: by_cell[cell] for name, by_cell in table.cells.items() if cell in by_cell}
    return [[results.title(name), thousands(one.user), thousands(one.kernel), *(
        thousands(one.told[role]) for role in ("worker", "ending", "redis", "load")),
        f"{100 * one.told['width']:.1f} %"] for name, one in found.items()]


def curve(table, name, pictures):
    """Return what the page says of a curve: a dict with what grows, rows, and pictures."""
    told, by_server = curves.CURVES[name], table.curves[name]
    rows = [[f"{size:,}", *(thousands(by_size[size].total) if size in by_size else "–"
                            for by_size in by_server.values())] for size in told.at]
    rows.append(["each adds", *(f"{curves.slope({x: y.total for x, y in one.items()})[0] / 1e3:.4f}"
                                for one in by_server.values())])
    return {"says": f"{told.says[0].upper()}{told.says[1:]}", "pictures": pictures,
            "head": [told.x, *map(results.title, by_server)], "rows": rows}


def make(folder, name, drawn):
    """Write report.html of a file of results in `folder` (a Path) and return its path. `drawn` has
    the pictures there: {file: what it shows}. Raises ImportError without jinja2, and OSError."""
    import jinja2  # pylint: disable=import-outside-toplevel    # of build/venv
    table = results.read(folder, [name])
    pictures = {file: {"title": title,      # for readers who do not see it
                       "encoded": base64.b64encode((folder / file).read_bytes()).decode()}
                for file, title in drawn.items()}
    cells = list(dict.fromkeys(cell for by_cell in table.cells.values() for cell in by_cell))
    page = jinja2.Environment(
        loader=jinja2.FileSystemLoader([Path(__file__).parent, STYLE]), autoescape=True,
        trim_blocks=True, lstrip_blocks=True).get_template("report.html")
    path = folder / "report.html"
    page.stream(
        machine=table.machine, cells=cells, costs=costs(table, cells),
        top=os.path.relpath(TOP, folder.resolve()),
        where=[(cell, *found) for cell in cells if (found := where(table, cell))[1]],
        roles=[(cell, roles(table, cell)) for cell in cells],
        pictures=[one for file, one in pictures.items() if not file.startswith("curve_")],
        curves=[curve(table, one, [picture for file, picture in pictures.items()
                                   if file == f"curve_{one}.svg"]) for one in table.curves],
    ).dump(str(path), encoding="utf-8")
    return path
