// The page: draws a World of sim.js, and measures the curve in the meantime.

const $ = id => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const MANY = 60;        // with more, clients are small squares that jump
const ROWS = 8;         // workers, and clients, that have a strip
const SWEEP = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const theme = {};       // colours of page.html, light or dark
let world, setting, prediction, curve, points, measuring, pace, spots;
let paused = false, steps = 0, last = 0;

const number = (x, digits = 3) => x >= 1000 ? Math.round(x).toLocaleString("en")
  : String(+x.toPrecision(digits));
const duration = s => s >= 1 ? number(s) + " s" : s >= 1e-3 ? number(s * 1e3) + " ms"
  : number(s * 1e6) + " µs";
const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

// ---------------------------------------------------------------- the settings

// Shows what the controls mean, and returns it.
function readControls() {
  const chosen = document.querySelector("[name=server]:checked"), server = chosen.value;
  const found = { server, page: document.querySelector("select").value };
  const unused = { workers: !MAKERS.includes(server) && [1, Infinity].includes(WORKERS[server]),
                   cores: ONE_CORE.includes(server) };
  $("says").textContent = chosen.parentNode.dataset.says;
  for (const input of document.querySelectorAll("[data-values]")) {
    const { key, values, unit = "" } = input.dataset, all = values.split(" ");
    input.max = all.length - 1;
    input.disabled = Boolean(unused[key]);
    const value = input.disabled ? 1 : Number(all[input.value]);
    found[key] = unit === " %" ? value / 100 : value;
    input.parentNode.querySelector("output").textContent =
      input.disabled ? "" : number(value) + unit;
  }
  return found;
}

// Begin again: a new world, a new curve.
function restart() {
  setting = readControls();
  prediction = solve(costs, setting);
  curve = Array.from({ length: 61 }, (_, i) => Math.round(10 ** (i / 20)))
    .map(clients => [clients, solve(costs, { ...setting, clients }).rate]);
  points = [];
  measuring = null;
  world = new World(costs, setting);
  spots = new Map();
  setPace();
  say();
}

// Simulated seconds a second: a page alone takes a second or so, and each client of
// a crowd gets its page within 15.
function setPace() {
  const alone = solve(costs, { ...setting, clients: 1 }).seconds;
  pace = readControls().pace * Math.max(alone / 2, setting.clients / 15 / prediction.rate);
}

// ------------------------------------------------------------------- the stage

// A canvas in its real resolution, cleared; its size in CSS pixels.
function surface(canvas) {
  const { clientWidth: w, clientHeight: h } = canvas, pen = canvas.getContext("2d");
  canvas.width = w * devicePixelRatio;
  canvas.height = h * devicePixelRatio;
  pen.scale(devicePixelRatio, devicePixelRatio);
  pen.font = "14px system-ui, sans-serif";
  return { pen, w, h };
}

function text(pen, words, x, y, colour = theme.text, align = "left") {
  pen.fillStyle = colour;
  pen.textAlign = align;
  pen.fillText(words, x, y);
}

function square(pen, [x, y], size, colour) {
  pen.fillStyle = colour;
  pen.fillRect(x - size / 2, y - size / 2, size, size);
}

function disc(pen, [x, y], radius, colour) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.fill();
}

// Where the i-th of n things is in a box, and how large a thing may be.
function cells(box, n, largest) {
  const top = box.y + 30, h = box.h - 36, w = box.w - 16;
  let size = largest;
  while (size > 2 && Math.floor(w / size) * Math.floor(h / size) < n) size -= size > 20 ? 1 : .25;
  const across = Math.max(1, Math.floor(w / size));
  return { size, at: i => [box.x + 8 + (i % across + .5) * size,
                           top + (Math.floor(i / across) + .5) * size] };
}

function drawStage(seconds) {
  const { pen, w, h } = surface($("stage")), boxes = {};
  let begin = 0;        // beside each other, or on a narrow screen one above the other
  for (const [name, share] of Object.entries({ tool: .2, queue: .2, server: .42, redis: .18 })) {
    boxes[name] = w >= 620 ? { x: begin * w, y: 0, w: share * w - 8, h }
                           : { x: 0, y: begin * h, w, h: share * h - 6 };
    begin += share;
  }
  const count = place => world.clients.filter(one => one.place === place).length;
  const titles = { tool: `load tool: ${count("tool")}`,
    queue: `accept queue: ${count("queue")}`, server: `server: ${plural(count("server"),
    "client")}`, redis: `Redis: ${world.redis.orders.length + world.redis.busy}` };
  const cores = { tool: world.tools[0].cores, server: world.cores, redis: world.redis.cores };
  for (const [name, box] of Object.entries(boxes)) {
    pen.fillStyle = theme.box;
    pen.fillRect(box.x, box.y, box.w, box.h);
    text(pen, titles[name], box.x + 9, box.y + 20);
    for (let i = 0; i < cores[name]?.count; i++)        // green while it computes
      square(pen, [box.x + box.w - 15 - 13 * i, box.y + 15], 11,
             cores[name].idle.includes(i) ? theme.idle : theme.run);
  }
  const tiles = drawWorkers(pen, boxes.server);
  drawCommands(pen, boxes.redis, tiles);
  drawClients(pen, boxes, tiles, seconds);
}

// A frame for each thread, in the colour of its state: a row for a loop, whose clients
// are in it, or a square for a worker. Returns where: {thread: {middle, at}}.
function drawWorkers(pen, box) {
  const tiles = new Map(), { threads, loops } = world, all = world.clients.length;
  const { size, at } = cells(box, world.most ? Math.min(world.most, all) + 1
    : threads.length, 84);
  const w = loops.length ? box.w - 16 : size * .9;
  const h = loops.length ? (box.h - 36) / loops.length - 4 : w;
  threads.forEach((thread, i) => {
    const middle = loops.length ? [box.x + box.w / 2, box.y + 32 + i * (h + 4) + h / 2] : at(i);
    const [x, y] = [middle[0] - w / 2, middle[1] - h / 2], edge = Math.max(2, h / 12);
    tiles.set(thread, { middle, at: loops.length && cells(
      { x: x - 4, y: y - 26, w: w + 8, h: h + 32 }, all, 46).at });
    if (thread.ended) return;
    pen.fillStyle = theme[thread.state];
    pen.fillRect(x, y, w, h);
    pen.fillStyle = theme.ground;
    pen.fillRect(x + edge, y + edge, w - 2 * edge, h - 2 * edge);
    if (size > 58 && !loops.length && !thread.client)
      text(pen, thread.name, middle[0], middle[1] + 5, theme.quiet, "center");
  });
  return tiles;
}

// Commands travel to Redis and back; those that wait there are in its box.
function drawCommands(pen, box, tiles) {
  const { now } = world.agenda, queue = cells(box, MANY, 18);
  let here = 0;
  for (const { client, at, begin, half } of world.tokens) {
    const inside = at === "redis", goal = queue.at(inside ? here++ : 0);
    if (here > MANY && inside) continue;
    const part = Math.min(1, (now - begin) / half);
    const far = inside ? 1 : at === "out" ? part : 1 - part;
    const from = spots.get(client) || tiles.get(client.worker).middle;
    square(pen, [0, 1].map(i => from[i] + (goal[i] - from[i]) * far), 10, theme.redis);
  }
}

// Each client is a disc that moves to where it is now, or a square in a crowd.
function drawClients(pen, boxes, tiles, seconds) {
  const { clients, queues } = world, crowd = clients.length > MANY, places = new Map();
  const home = cells(boxes.tool, clients.length, 46), line = cells(boxes.queue, clients.length, 46);
  queues.flat().forEach((client, i) => places.set(client, line.at(i)));
  const part = still.matches || crowd ? 1 : 1 - Math.exp(-seconds / .08);
  const radius = Math.max(1, Math.min(home.size, line.size) * .4);
  pen.font = `${Math.round(radius * .95)}px system-ui, sans-serif`;
  for (const client of clients) {
    const { number, state, place, manner } = client, colour = theme[state];
    const tile = place === "server" && tiles.get(client.worker);
    const goal = !tile ? places.get(client) || home.at(number - 1)
      : tile.at ? tile.at(number - 1) : tile.middle;
    const spot = spots.get(client) || goal.slice();
    for (const i of [0, 1]) spot[i] += (goal[i] - spot[i]) * part;
    spots.set(client, spot);
    if (manner !== "normal" && !crowd) disc(pen, spot, radius + 2.5, theme.client);
    (crowd ? square : disc)(pen, spot, crowd ? radius * 2 : radius, colour);
    const pale = !["redis", "run", dark.matches && "idle"].includes(state);
    if (radius >= 8 && !crowd)
      text(pen, number, spot[0], spot[1] + radius * .34, pale ? "#1d2430" : "#fff", "center");
  }
}

// As in the timeline: a row a worker and a row a client, the newest at the right.
function drawStrips() {
  const { pen, w, h } = surface($("strips")), { now } = world.agenda, span = pace * 5;
  const rows = [...world.threads.slice(0, ROWS), ...world.clients.slice(0, ROWS)];
  const left = 72, scale = (w - left) / span, step = (h - 20) / rows.length;
  const high = Math.min(22, step - 3);
  pen.font = "12px system-ui, sans-serif";
  rows.forEach((row, i) => {
    const past = row.past ||= [[0, row.since, "idle"]];
    past.splice(0, past.findIndex(bar => bar[1] > now - span));
    text(pen, row.name, left - 8, i * step + high / 2 + 4, theme.quiet, "right");
    let x = left;               // what is narrower than half a pixel is left out
    for (const [, end, state] of [...past, [row.since, now, row.state]]) {
      const right = w - (now - end) * scale, idle = state === "idle";
      if (right < x + .5) continue;
      pen.fillStyle = theme[state];
      pen.fillRect(x, i * step + (idle ? high / 2 - 1 : 0), right - x, idle ? 2 : high);
      x = right;
    }
  });
  text(pen, duration(span) + " ago", left, h - 3, theme.quiet);
  text(pen, "now", w, h - 3, theme.quiet, "right");
}

// Measure the next point of the curve for some milliseconds.
function measure(milliseconds) {
  const end = performance.now() + milliseconds;
  do {
    const clients = [setting.clients, ...SWEEP].find(n => !points.some(([done]) => done === n));
    if (!clients) return;
    measuring ||= new Measurement(costs, { ...setting, clients, seed: 7 }, 2000, 20);
    const result = measuring.work(500);
    if (!result) continue;
    points = [...points, [clients, result.rate]].sort((a, b) => a[0] - b[0]);
    measuring = null;
    say();
  } while (performance.now() < end);
}

function say() {
  const here = points.find(([n]) => n === setting.clients);
  $("verdict").textContent = `${plural(setting.clients, "client")}: ` +
    (here ? `simulated ${number(here[1])}, ` : "") + `predicted ${number(prediction.rate)} ` +
    `pages/s. Limit: ${LIMITS[prediction.limit]}.`;
}

function drawChart() {
  const { pen, w, h } = surface($("chart")), left = 62, right = w - 24, foot = h - 38;
  const highest = Math.max(...curve.concat(points).map(([, rate]) => rate));
  const unit = 10 ** Math.floor(Math.log10(highest));
  const top = unit * [1.2, 2, 3, 4, 6, 8, 12].find(n => n * unit >= highest * 1.03);
  const at = ([n, rate]) => [left + (right - left) * Math.log10(n) / 3,
                             foot - (foot - 34) * rate / top];
  const line = (all, colour, width, dash = []) => {
    Object.assign(pen, { strokeStyle: colour, lineWidth: width });
    pen.setLineDash(dash);
    pen.beginPath();
    for (const point of all) pen.lineTo(...at(point));
    pen.stroke();
  };
  for (let rate = 0; rate <= top; rate += top / 4) {
    line([[1, rate], [1000, rate]], theme.grid, 1);
    text(pen, number(rate), left - 7, at([1, rate])[1] + 5, theme.quiet, "right");
  }
  for (const n of [1, 10, 100, 1000])
    text(pen, number(n), at([n, 0])[0], foot + 18, theme.quiet, "center");
  text(pen, "clients", (left + w) / 2, h - 4, theme.quiet, "center");
  text(pen, "pages/s", 0, 13, theme.quiet);
  line([[setting.clients, 0], [setting.clients, top]], theme.grid, 2);
  line(curve, theme.quiet, 2.5, [7, 5]);
  line(points, theme.accent, 2.5);
  for (const point of points)
    disc(pen, at(point), point[0] === setting.clients ? 8 : 4.5, theme.accent);
}

// --------------------------------------------------------- frames and controls

// Draws a frame. A gap of more than a second on the screen is skipped.
function draw(seconds) {
  const { now, events } = world.agenda, next = events.at(-1)?.time;
  if (!paused && next > now + pace) world.advance(next, 1);
  else if (!paused) world.advance(now + seconds * pace, 3000);
  for (; steps > 0; steps--) world.advance(Infinity, 1);
  const style = getComputedStyle(document.body);
  for (const name of ["text", "quiet", "grid", "box", "ground", "accent", ...STATES])
    theme[name] = style.getPropertyValue("--" + name);
  drawStage(seconds);
  drawStrips();
  measure(2);
  drawChart();
  const { pages, seconds: waited, late } = world.result();
  const short = setting.computing
    ? `; 99 % of those that do not compute, ${duration(late)} at most` : "";
  $("now").textContent = `${duration(world.agenda.now)} simulated, slowed down ` +
    `${number(1 / pace, 2)} times. ${plural(pages, "page")}` +
    (pages ? `, each took ${duration(waited)} on average${short}.` : ".");
}

function frame(time) {
  draw(Math.min(.05, (time - last) / 1000));
  last = time;
  requestAnimationFrame(frame);
}

function pause(on) {
  paused = on;
  $("pause").textContent = paused ? "Continue" : "Pause";
}

// A step is one event, or several when there was no frame in between.
$("pause").onclick = () => pause(!paused);
$("step").onclick = () => { pause(true); steps++; };
$("again").onclick = restart;
addEventListener("input", event => event.target.id === "pace" ? setPace() : restart());

// #server=prethreaded&only=workers: a page of the book shows that server, and one control.
const asked = new URLSearchParams(location.hash.slice(1));
for (const button of document.querySelectorAll("[name=server]"))
  button.checked ||= button.value === asked.get("server");
document.body.classList.toggle("only", asked.has("only"));
if (document.getElementById("home"))    // in a frame, the book is around it
  document.getElementById("home").hidden = window.parent !== window;
if (asked.has("only"))
  for (const label of document.querySelectorAll("#controls label"))
    label.hidden = ![asked.get("only"), "pace"].includes(label.querySelector("input").dataset.key);

addEventListener("keydown", event => {
  const control = document.querySelector(`[data-hotkey="${CSS.escape(event.key)}"]`);
  // On a button, in a list and on a slider, space has its usual meaning.
  const usual = event.key === " " && event.target.matches("button, select");
  if (!control || usual || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  control.click();
});
restart();
$("source").textContent = `Costs: ${costs.source.what}, ${costs.source.cpu}.`;
requestAnimationFrame(frame);
