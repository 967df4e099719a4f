"""How pictures look: one colour and marker for each server in every picture, and the two
themes. Pure: tools/observe/ and tools/book/ read it, too.

Readers who cannot tell the colours apart have the markers.
"""

from tools.kit import servers
from tools.kit.colours import GROUND, QUIET, TEXT

# Of the pages and the charts: (on white, on black).
GRID, AXIS = ("#eceff3", "#252d37"), ("#b9c1cc", "#4a5563")
USER, SYSTEM = ("#0b5cad", "#a8d1ff"), ("#9cc3ea", "#3f78b5")

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

# In the order of MARKERS.
ARCHITECTURES = {one.name: one.colour for one in servers.ARCHITECTURES}
# Peers, servers of a study, and published ones: legible on both grounds.
OTHERS = ("#a07d3c", "#7b7edc", "#738a48", "#ad63a3", "#4b90a5", "#b5655a", "#7b8794")


def style(name, place=0):
    """Return {"light", "marker"} for a server: a colour and a key of MARKERS.
    `place` tells apart those that are not of the collection."""
    light = OTHERS[place % len(OTHERS)]
    if name in ARCHITECTURES:
        light, place = ARCHITECTURES[name][0], [*ARCHITECTURES].index(name)
    return {"light": light, "marker": [*MARKERS][place % len(MARKERS)]}


def adapted(svg):
    """Return an SVG picture for white ground as one whose colours follow the theme of the page."""
    pairs = (GROUND, TEXT, QUIET, GRID, AXIS, USER, SYSTEM, *ARCHITECTURES.values())
    rules = "".join(f'[{part}="{light}"]{{{part}:{dark}}}'
                    for light, dark in pairs for part in ("fill", "stroke"))
    return svg.replace(">", "><style>@media (prefers-color-scheme: dark){" + rules + "}</style>", 1)
