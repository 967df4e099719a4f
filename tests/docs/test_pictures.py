"""Pictures as Chromium draws them: text stays within its picture and its box, crosses no line and
no other text. Its letters are those of the machine, which may be wider than ours."""

import pytest

# Curves may cross the names of levels, and a flame graph is made of boxes that are cut.
DRAWINGS = "picture-*-light.svg"
OTHERS = ("curve-*", "counted-*", "response-*", "shape-*", "published-*", "exact-*")
LOOK = """const [strict] = arguments, faults = [];
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
return faults;"""


def look(browser, folder, pictures, strict):
    """Return the faults of pictures, {name: SVG}, each drawn as it is in a page of 720 pixels."""
    page = folder / "page.html"
    page.write_text("<meta charset=utf-8>" + "".join(
        f"<div id=\"{name}\" style='width: 720px'>{svg[svg.index('<svg'):]}</div>"
        for name, svg in pictures.items()))
    browser.get(page.as_uri())
    return browser.execute_script(LOOK, strict)


def test_text_in_drawings(browser, book, tmp_path):
    """It stays in its box, and crosses no line."""
    drawn = {path.stem: path.read_text() for path in sorted((book / "_images").glob(DRAWINGS))}
    assert len(drawn) > 10
    faults = look(browser, tmp_path, drawn, True)
    assert not faults


def test_text_in_charts(browser, book, tmp_path):
    """No title is cut, and no name is drawn over another."""
    drawn = {path.stem: path.read_text() for kind in OTHERS
             for path in sorted((book / "_images").glob(f"{kind}-light.svg"))}
    assert len(drawn) > 20
    faults = look(browser, tmp_path, drawn, False)
    assert not faults


@pytest.mark.parametrize("inside, fault", [
    ('<text x="80" y="20">too long for it</text>', "leaves the picture"),
    ('<text x="9" y="20">words</text><text x="30" y="24">words</text>', "drawn over"),
    ('<rect x="5" y="5" width="30" height="20" stroke="#000"/><text x="9" y="20">words</text>',
     "crosses a box"),
    ('<path d="M20,0V40" stroke="#000"/><text x="9" y="20">words</text>', "crosses a line"),
    ('<rect x="5" y="5" width="90" height="20" stroke="#000"/><text x="9" y="20">words</text>',
     None)])
def test_faults_are_seen(browser, tmp_path, inside, fault):
    """Of each kind one; and none where all is well."""
    found = look(browser, tmp_path, {"made": '<svg xmlns="http://www.w3.org/2000/svg" '
                                     f'viewBox="0 0 120 40" font-size="12">{inside}</svg>'}, True)
    assert [one for one in found if fault and fault in one] if fault else not found
