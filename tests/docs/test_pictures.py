"""Pictures: as Chromium draws them, text stays within its picture and its box, crosses no line and
no other text. Its letters are those of the machine, which may be wider than ours."""

import re

import pytest

from tests.docs.conftest import TOP
from tools.book import overview, pictures
from tools.kit import states
from tools.report import styles
from tools.results import rundir

# Curves may cross the names of levels, and a flame graph is made of boxes that are cut.
DRAWINGS = ("picture-*",)
CHARTS = ("curve-*", "counted-*", "response-*", "shape-*", "published-*", "exact-*",
          "overview-wide")
LOOK = """const [strict] = arguments, faults = [];
let looked = 0;
for (const svg of document.querySelectorAll("svg")) {
  const ground = svg.getBoundingClientRect(), seen = [], name = svg.parentElement.id,
    texts = [...svg.querySelectorAll("text")].filter(e => e.textContent.trim()),
    lines = strict ? [...svg.querySelectorAll("path[stroke]")] : [],
    boxes = strict ? [...svg.querySelectorAll("rect[stroke]")].map(
      e => e.getBoundingClientRect()) : [];
  // Points of lines, in pixels of the page.
  const points = lines.flatMap(line => {
    const m = line.getScreenCTM(), made = [];
    for (let at = 0; at <= line.getTotalLength(); at += 1)
      made.push(line.getPointAtLength(at).matrixTransform(m));
    return made; });
  looked += texts.length;
  for (const text of texts) {
    const b = text.getBoundingClientRect(), said = text.textContent;
    // Without the room above and below the letters.
    const t = {left: b.left, right: b.right, top: b.top + b.height * .2,
               bottom: b.bottom - b.height * .2};
    const apart = o => t.right <= o.left || t.left >= o.right || t.bottom <= o.top ||
      t.top >= o.bottom;
    if (b.left < ground.left - .5 || b.right > ground.right + .5 || b.top < ground.top - 1 ||
        b.bottom > ground.bottom + 1)
      faults.push(`${name}: leaves the picture: ${said}`);
    for (const o of seen)
      if (!apart(o)) faults.push(`${name}: ${said} is drawn over ${o.said}`);
    if (boxes.some(o => !apart(o) && !(t.left >= o.left && t.right <= o.right &&
                                       t.top >= o.top && t.bottom <= o.bottom)))
      faults.push(`${name}: crosses a box: ${said}`);
    if (points.some(p => p.x > t.left && p.x < t.right && p.y > t.top && p.y < t.bottom))
      faults.push(`${name}: crosses a line: ${said}`);
    seen.push({...t, said});
  }
}
return {looked, faults};"""
TIMELINES = sorted((TOP / "docs" / "results" / "timelines").glob("*.svg*"))
SMALLEST = 11           # pixels, of a timeline that is 800 wide


@pytest.mark.parametrize("kinds, strict", [(DRAWINGS, True), (CHARTS, False)],
                         ids=["drawings", "charts"])
def test_text_in_pictures(browser, book, tmp_path, kinds, strict):
    """Each picture is as in a page of 720 pixels. Only in a drawing, no text crosses a line or the
    edge of a box."""
    drawn = {path.stem: path.read_text() for kind in kinds
             for path in sorted((book / "_images").glob(f"{kind}-light.svg"))}
    page = tmp_path / "page.html"
    page.write_text("<meta charset=utf-8>" + "".join(
        f"<div id=\"{name}\" style='width: 720px'>{svg[svg.index('<svg'):]}</div>"
        for name, svg in drawn.items()))
    browser.get(page.as_uri())
    found = browser.execute_script(LOOK, strict)
    assert found["looked"] > len(drawn) > 1 and not found["faults"]


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_drawing_has_colours_for_both_themes(name):
    """Those of our other pictures, each of which has its like on a dark page."""
    known = {*(colour[0] for colour in vars(styles).values() if isinstance(colour, tuple)),
             *(kind[1] for kind in states.KINDS.values())}
    assert set(re.findall("#[0-9a-f]{6}", pictures.picture(name)[0])) <= known


@pytest.mark.parametrize("path", TIMELINES, ids=lambda one: one.stem)
def test_words_of_a_timeline_can_be_read_at_800_pixels(path):
    """In a page of the book and in the README."""
    text = rundir.read_text(path.with_suffix("") if path.suffix == ".xz" else path)
    width = int(re.search(r"viewBox='0 0 (\d+) ", text)[1])
    sizes = [float(size) for size in re.findall(r"font-size='([\d.]+)'", text)]
    assert sizes and min(sizes) * 800 / width >= SMALLEST


def test_the_readme_has_the_picture_of_the_book():
    """In both themes; `python3 -m tools.book.overview` draws it."""
    readme = (TOP / "README.md").read_text()
    for theme, text in overview.in_both().items():
        assert overview.README[theme].read_text() == text
        assert str(overview.README[theme].relative_to(TOP)) in readme
    assert f'alt="{overview.ALT}"' in readme
