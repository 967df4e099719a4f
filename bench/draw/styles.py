"""One fixed colour and marker for each server, in every picture, and the two
themes.

The seven colours are those of Okabe and Ito without their yellow, which fades
on white. Readers who cannot tell the colours apart have the markers.
"""

# Paths around the middle, to be scaled to the radius wanted.
MARKERS = {
    "circle": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "square": "M-.9,-.9H.9V.9H-.9Z",
    "triangle": "M0,-1.1L1.05,.8H-1.05Z",
    "diamond": "M0,-1.25L1.1,0L0,1.25L-1.1,0Z",
    "wedge": "M0,1.1L-1.05,-.8H1.05Z",
    "cross": "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "star": "M0,-1.35L.37,-.46L1.28,-.42L.57,.15L.79,1.09L0,.58L-.79,1.09"
            "L-.57,.15L-1.28,-.42L-.37,-.46Z",
}
LOST = "M-1.1,-1.1L1.1,1.1M-1.1,1.1L1.1,-1.1"    # instead of a marker

ARCHITECTURES = {
    # name: (colour on white, colour on black, marker)
    "iterative": ("#555555", "#b8b8b8", "circle"),
    "forking": ("#e69f00", "#e69f00", "square"),
    "preforking": ("#56b4e9", "#56b4e9", "triangle"),
    "threaded": ("#009e73", "#00b384", "diamond"),
    "prethreaded": ("#cc79a7", "#d98cb6", "wedge"),
    "poll": ("#d55e00", "#ee7c26", "cross"),
    "epoll": ("#0072b2", "#4aa3df", "star"),
}

# Servers that are not of the collection, and published ones.
OTHERS = ("#8c6d31", "#6b6ecf", "#637939", "#9b5193", "#3f7f93", "#a05344",
          "#6f7b88")

THEMES = {
    "light": {"ground": "#ffffff", "text": "#1d2430", "quiet": "#5b6675",
              "grid": "#eceff3", "axis": "#b9c1cc", "other": "#b9c1cc",
              "user": "#0b5cad", "system": "#9cc3ea"},
    "dark": {"ground": "#14181e", "text": "#e6eaf0", "quiet": "#9aa7b6",
             "grid": "#252d37", "axis": "#4a5563", "other": "#4a5563",
             "user": "#a8d1ff", "system": "#3f78b5"},
}


def style(name, place=0):
    """Return {"light", "dark", "marker", "dash"} for a server; `place` tells
    apart those that are not of the collection."""
    if name in ARCHITECTURES:
        light, dark, marker = ARCHITECTURES[name]
        return {"light": light, "dark": dark, "marker": marker,
                "dash": False}
    colour = OTHERS[place % len(OTHERS)]
    marker = list(MARKERS)[place % len(MARKERS)]
    return {"light": colour, "dark": _lighter(colour), "marker": marker,
            "dash": True}


def _lighter(colour):
    """Return a colour mixed with white, for black ground."""
    parts = (int(colour[place:place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(255 - 0.65 * (255 - part)):02x}"
                         for part in parts)
