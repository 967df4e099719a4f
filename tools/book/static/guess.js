// Guess by drawing: the reader draws the curve that they expect, with the pointer or with the
// arrow keys; then the measured one draws itself over it. tools/book/guess.py writes the data.
(() => {
const COLUMNS = 120, STEPS = 100;       // of a drawn line: across, and from bottom to top
const NEAR = 1.25, BENT = 4 / 3;
const number = value => Math.round(value).toLocaleString("en-US");
const inside = (value, least, most) => Math.min(most, Math.max(least, value));

// The kind of a guess: as choose() in tools/observe/predict/guess.py.
const peaks = curve => Math.max(...curve) > BENT * Math.max(curve[0], curve.at(-1));
function choose(drawn, measured, kinds) {
  const guess = drawn.map(one => Math.max(1, one));
  const factors = guess.map((one, place) => one / measured[place]);
  const near = factor => 1 / NEAR <= factor && factor <= NEAR;
  if (factors.every(near)) return "close";
  const grows = guess.at(-1) / guess[0], grew = measured.at(-1) / measured[0];
  const bent = {
    peaks: peaks(guess) && !peaks(measured),
    rises: grows > BENT && grows > BENT * grew,
    falls: grows < 1 / BENT && grows < grew / BENT };
  const shape = ["peaks", "rises", "falls"].find(kind => bent[kind] && kinds.includes(kind));
  if (shape) return shape;
  const far = factors.reduce((one, other) =>
    Math.abs(Math.log(other)) > Math.abs(Math.log(one)) ? other : one);
  return (near(factors.at(-1)) ? far : factors.at(-1)) > 1 ? "high" : "low";
}

// What is drawn: values at some columns, straight lines between them. The start may be given.
class Line {
  constructor(start) {
    this.start = start;
    this.at = new Map(start === null ? [] : [[0, start]]);
  }

  get begun() { return this.at.size > (this.start === null ? 0 : 1); }

  set(column, value) {
    if (column || this.start === null) this.at.set(column, value);
  }

  value(column) {
    const drawn = [...this.at.keys()].sort((one, other) => one - other);
    const right = drawn.find(one => one >= column) ?? drawn.at(-1);
    const left = drawn.findLast(one => one <= column) ?? right;
    const low = this.at.get(left), high = this.at.get(right);
    return left < right ? low + (high - low) * (column - left) / (right - left) : low;
  }

  // A stroke of the pointer, from where it was.
  stroke([was, old], [column, value]) {
    const steps = Math.max(1, Math.abs(column - was));
    for (let step = 0; step <= steps; step++)
      this.set(was + Math.sign(column - was) * step, old + (value - old) * step / steps);
  }

  // A value at one of the ticks: straight lines to its neighbours, if they are drawn.
  bend(columns, place, value) {
    if (!columns[place] && this.start !== null) return;
    const left = columns[place - 1] ?? -1, right = columns[place + 1] ?? COLUMNS + 1;
    const drawn = [...this.at.keys()];
    for (const [end, is] of [[left, one => one <= left], [right, one => one >= right]])
      if (drawn.some(is) && columns.includes(end)) this.set(end, this.value(end));
    for (const one of drawn) if (one > left && one < right) this.at.delete(one);
    this.set(columns[place], value);
  }
}

class Guess {
  constructor(box, id) {
    this.box = box;
    Object.assign(this, JSON.parse(box.querySelector("script").textContent));
    const [first, last] = [this.points[0][0], this.points.at(-1)[0]];
    this.share = x => Math.log(x / first) / Math.log(last / first);
    this.columns = this.ticks.map(x => Math.round(this.share(x) * COLUMNS));
    this.rates = this.ticks.map(x => this.points.find(point => point[0] === x)[1]);
    this.build(id);
    this.again();
    new ResizeObserver(() => this.draw()).observe(this.chart);
  }

  build(id) {
    const [from, to] = [this.ticks[0], this.ticks.at(-1)].map(number);
    const asks = this.start === null ? `How many ${this.unit} does ${this.title} serve with ${
      from} clients, and how many with ${to}?` : `With ${from} clients, ${this.title} serves ${
      number(this.start)} ${this.unit}. How many does it serve with ${to}?`;
    this.box.insertAdjacentHTML("beforeend", `
      <p id="${id}"><b>What do you expect?</b> ${asks}</p>
      <div class="guess-chart" role="slider" tabindex="0" aria-orientation="vertical"
        aria-labelledby="${id}" aria-describedby="${id}-how" aria-valuemin="0"
        aria-valuemax="${this.top}"><svg aria-hidden="true"></svg></div>
      <p class="guess-how" id="${id}-how">Drag across the chart. Or use the keyboard: left and
      right choose a number of clients, up and down change your guess, Enter reveals.</p>
      <p class="guess-do"><button type="button">Show the measured curve</button>
      <button type="button">Start again</button></p>
      <p class="guess-said" role="status" aria-live="polite"></p>`);
    this.chart = this.box.querySelector(".guess-chart");
    this.svg = this.chart.firstChild;
    const [show, again] = this.box.querySelectorAll("button");
    show.onclick = () => this.show(this.chart.focus());
    again.onclick = () => this.again(this.chart.focus());
    this.chart.onkeydown = event => this.key(event);
    this.chart.onblur = () => { this.keys = false; this.draw(); };
    this.chart.onpointerdown = event => this.pointer(event, true);
    this.chart.onpointermove = event => this.pointer(event, false);
    this.chart.onpointerup = this.chart.onpointercancel = () => { this.from = null; };
  }

  again() {
    this.line = new Line(this.start);
    this.place = this.start === null ? 0 : 1;
    this.from = null;
    this.turn("ask", "");
  }

  // To another state: ask, draws, shown.
  turn(state, text) {
    this.box.dataset.state = this.state = state;
    this.box.querySelector(".guess-said").textContent = text;
    this.chart.setAttribute("aria-readonly", state !== "ask");
    this.draw();
  }

  pointer(event, begins) {
    if (this.state !== "ask" || event.button > 0 || !(begins || this.from)) return;
    if (begins) this.chart.setPointerCapture(event.pointerId);
    this.keys = false;
    const around = this.svg.getBoundingClientRect();
    const across = inside((event.clientX - around.left - this.left) / this.wide, 0, 1);
    const down = inside((event.clientY - around.top - this.upper) / this.high, 0, 1);
    const to = [Math.round(across * COLUMNS), Math.round((1 - down) * STEPS) / STEPS * this.top];
    this.line.stroke(this.from ?? to, to);
    this.from = to;
    this.draw();
  }

  key(event) {
    const walks = { ArrowLeft: -1, ArrowRight: 1 }, { key } = event, step = this.top / STEPS;
    const moves = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (key in walks) this.place = inside(this.place + walks[key], 0, this.ticks.length - 1);
    else if (key === "Enter") this.show();
    else if (!(key in moves)) return;
    else if (this.state === "ask") this.line.bend(this.columns, this.place,
      inside(Math.round(this.here() / step + moves[key]) * step, 0, this.top));
    event.preventDefault();
    event.stopPropagation();    // the arrows also turn the pages of the book
    this.keys = true;
    this.draw();
  }

  // The value at the chosen tick; without a line, one of a known curve.
  here() {
    return this.line.at.size ? this.line.value(this.columns[this.place])
      : this.known[0]?.points[0][1] ?? this.top / 2;
  }

  show() {
    if (this.state !== "ask") return;
    if (!this.line.begun) return this.turn("ask", "Draw your guess first.");
    this.turn("draws", "");
    const done = () => { if (this.state === "draws") this.turn("shown", this.sentence()); };
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return done();
    setTimeout(done, 1400);
    this.svg.querySelector(".measured").animate(
      { strokeDashoffset: [1, 0] }, { duration: 1400, easing: "ease-in-out" });
  }

  sentence() {
    const guess = this.columns.map(column => this.line.value(column));
    const kind = choose(guess, this.rates, Object.keys(this.said));
    return `With ${number(this.ticks.at(-1))} clients, you expected ${number(guess.at(-1))} ${
      this.unit}; measured: ${number(this.rates.at(-1))}. ${this.said[kind] ?? ""}`;
  }

  // -------------------------------------------------------------- the picture

  x(share) { return this.left + share * this.wide; }
  y(rate) { return this.upper + (1 - rate / this.top) * this.high; }

  draw() {
    const width = this.chart.clientWidth, height = inside(width / 2, 270, 360);
    [this.left, this.upper, this.wide, this.high] = [54, 28, width - 66, height - 72];
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.innerHTML = this.axes() + this.known.map(one => this.grey(one)).join("") +
      (this.line.begun ? this.lines() : this.invitation()) + (this.keys ? this.hand() : "");
    const tick = `${number(this.ticks[this.place])} clients: `;
    this.chart.setAttribute("aria-valuenow", Math.round(this.here()));
    this.chart.setAttribute("aria-valuetext", this.line.begun ? `${tick}your guess ${
      number(this.here())} ${this.unit}` + (this.state === "shown" ?
      `, measured ${number(this.rates[this.place])}` : "") : `${tick}no guess yet`);
  }

  text(x, y, words, anchor, kind = "quiet") {
    return `<text x="${x}" y="${y}" text-anchor="${anchor}" class="${kind}">${words}</text>`;
  }

  path(points, kind, more = "") {
    return `<path class="${kind}" d="M${points.map(one => one.join()).join("L")}" ${more}/>`;
  }

  along(points) { return points.map(([x, rate]) => [this.x(this.share(x)), this.y(rate)]); }

  axes() {
    const right = this.left + this.wide, power = 10 ** Math.floor(Math.log10(this.top / 3));
    const step = [1, 2, 5, 10].find(one => one * power >= this.top / 3) * power;
    let made = this.text(0, 14, this.unit, "start") +
      this.text(right, this.y(0) + 38, this.axis, "end");
    for (let rate = 0; rate <= this.top; rate += step)
      made += this.path([[this.left, this.y(rate)], [right, this.y(rate)]], "grid") +
        this.text(this.left - 8, this.y(rate) + 4, number(rate), "end");
    return made + this.ticks.map(x =>
      this.text(this.x(this.share(x)), this.y(0) + 18, number(x), "middle")).join("");
  }

  grey(one) {
    const points = this.along(one.points), [x, y] = points[0];
    return this.path(points, "known") + this.text(x + 4, y + 18, one.title, "start");
  }

  invitation() {
    const x = this.x(0), y = this.y(this.start ?? 0);
    return this.text(this.x(0.5), this.y(this.top * 0.88), "\u270e Draw your guess", "middle",
      "invites") + (this.start === null ? "" : `<circle class="start" r="6" cx="${
      x}" cy="${y}"/>` + this.text(x + 12, y + 5, "go on from here", "start", ""));
  }

  // Both lines. The higher one has its label above it, the lower one below.
  lines() {
    const theirs = this.along(this.points), done = this.state === "shown";
    const own = Array.from({ length: COLUMNS + 1 }, (_, column) =>
      [this.x(column / COLUMNS), this.y(this.line.value(column))]);
    const [mine, other] = [own.at(-1)[1], theirs.at(-1)[1]];
    const label = (words, y, above, kind) => this.text(this.left + this.wide,
      Math.max(14, y + (above ? -10 : 20)), words, "end", kind);
    return (done ? this.path([...theirs, ...own.toReversed()], "between") : "") +
      this.path(own, "own") +
      (this.keys && !done ? "" : label("your guess", mine, !done || mine < other, "")) +
      (this.state === "ask" ? "" :
        this.path(theirs, "measured", 'pathLength="1" stroke-dasharray="1"')) +
      (done ? label("measured", other, other <= mine, "label") : "");
  }

  // The tick at which the keyboard is.
  hand() {
    const tick = this.ticks[this.place], value = this.here(), first = this.place < 2;
    const x = this.x(this.share(tick)), y = this.y(value);
    return this.path([[x, this.y(0)], [x, this.upper]], "tick") +
      `<circle class="hand" r="7" cx="${x}" cy="${y}"/>` + (this.state !== "ask" ? "" :
      this.text(x + (first ? 12 : -12), y < this.upper + 30 ? y + 28 : y - 16,
        `${number(value)} with ${number(tick)} clients`, first ? "start" : "end", "label"));
  }
}

globalThis.chooseGuess = choose;        // for the tests
document.querySelectorAll(".guess").forEach((box, place) => new Guess(box, `guess-${place}`));
})();
