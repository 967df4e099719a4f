"""One fixed colour and marker for each server, in every picture.

The seven colours are those of Okabe and Ito without their yellow, which
fades on white; they stay apart for the colour-blind, and the markers do
where there is no colour at all.
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

# The others share quiet colours; lines of theirs are dashed and labelled.
OTHERS = ("#8c6d31", "#6b6ecf", "#637939", "#7b4173", "#3f7f93", "#a05344",
          "#5f6b78")


def style(name, place=0):
    """Return {"light", "dark", "marker", "dash"} for a server; `place`
    tells those apart that are not of the collection."""
    if name in ARCHITECTURES:
        light, dark, marker = ARCHITECTURES[name]
        return {"light": light, "dark": dark, "marker": marker,
                "dash": False}
    colour = OTHERS[place % len(OTHERS)]
    marker = list(MARKERS)[place % len(MARKERS)]
    return {"light": colour, "dark": colour, "marker": marker, "dash": True}
