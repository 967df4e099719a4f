"""The simulator as one HTML page that needs nothing else. Pure, but for its
parts: page.html (the form), model.js, sim.js (the engine) and view.js.
"""

import html
import json
from pathlib import Path

from tools.kit import servers, states
from tools.model import explain, model

# The kinds of tools/kit/states.py that can occur here.
USED = ("run", "client", "redis", "cpu", "queue", "idle")
SHOWN = "prethreaded"       # first

_HERE = Path(__file__).parent


def engine():
    """Return the JavaScript without the page: model and simulator, for node."""
    text = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in ("model.js", "sim.js"))
    for name in ("WORKERS", "ONE_CORE", "MAKERS"):
        text = text.replace(f"/*{name}*/", json.dumps(getattr(model, name)))
    return text


def draw(costs, home=""):
    """Return the page's text. `costs`: as model.load() returns
    them; microseconds of CPU a page. `home`: where the book begins, if it is part of one."""
    page = (_HERE / "page.html").read_text(encoding="utf-8")
    view = (_HERE / "view.js").read_text(encoding="utf-8")
    for mark, text in (
            ("HOME", f'<p id="home"><a href="{html.escape(home)}">← The book</a></p>\n' if home
             else ""),
            ("SERVERS", "\n".join(map(_button, (
                one for one in servers.ARCHITECTURES if one.name in costs["servers"])))),
            ("LIGHT", _colours(1)), ("DARK", _colours(2)),
            ("LEGEND", "\n".join(
                f'<span><i style="background: var(--{kind})"></i>'
                f"{html.escape(states.KINDS[kind][0])}</span>" for kind in USED)),
            ("STATES", _json(USED)), ("LIMITS", _json(explain.LIMITS)), ("COSTS", _json(costs)),
            ("SCRIPTS", engine() + "\n" + view)):
        page = page.replace(f"/*{mark}*/", text)
    return page


def _button(server):
    """Return the button of a server; the model knows no server without costs."""
    number = server.folder[:2]
    return (f'<label data-says="{html.escape(server.says)}"><input type="radio" name="server"'
            f' value="{server.name}" data-hotkey="{number[1]}"'
            f'{" checked" if server.name == SHOWN else ""}>{number} {server.name}</label>')


def _colours(column):
    return "; ".join(f"--{kind}: {states.KINDS[kind][column]}" for kind in USED)


def _json(data):
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
