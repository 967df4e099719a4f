// The page: draws a World of sim.js, and measures the curve in the meantime.

const $ = id => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const MANY = 60;        // with more, clients are drawn as a crowd
const ROWS = 8;         // workers, and clients, that have a strip
const SWEEP = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
let world, setting, prediction, curve, points, measuring, pace, spots, theme = {};
let paused = false, steps = 0, last = 0;

const number = (x, digits = 3) => x >= 1000 ? Math.round(x).toLocaleString("en")
  : String(+x.toPrecision(digits));
const duration = s => s >= 1 ? number(s) + " s" : s >= 1e-3 ? number(s * 1e3) + " ms"
  : number(s * 1e6) + " µs";
const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

function readTheme() {
  for (const name of ["text", "quiet", "grid", "box", "ground", "accent", ...STATES])
    theme[name] = getComputedStyle(document.body).getPropertyValue("--" + name);
}

// ---------------------------------------------------------------- the settings

function readControls() {
  const server = document.querySelector("[name=server]:checked");
  const kept = document.querySelector("[data-key=kept]").checked ? " kept" : "";
  const found = { server: server.value, page: document.querySelector("select").value + kept };
  const fixed = ["iterative", "poll", "epoll"].includes(server.value);
  $("says").textContent = server.parentNode.dataset.says;
  $("kind").textContent = MAKERS.includes(server.value) ? "workers, at most"
    : WORKERS[server.value] === Infinity ? "loops, one a core" : "workers";
  for (const input of document.querySelectorAll("[data-values]")) {
    const values = input.dataset.values.split(" "), key = input.dataset.key;
    const shown = input.parentNode.querySelector("output");
    input.max = values.length - 1;
    input.disabled = key === "workers" && fixed ||
                     key === "cores" && ONE_CORE.includes(server.value);
    const value = input.disabled && key === "cores" ? 1 : Number(values[input.value]);
    found[key] = shown.dataset.unit === " %" ? value / 100 : value;
    shown.textContent = number(value) + (shown.dataset.unit || "");
    if (key === "workers" && fixed) shown.textContent = "";
  }
  return found;
}

// Begin again: a new world, a new curve.
function restart() {
  const { pace: factor, ...chosen } = readControls();
  setting = chosen;
  prediction = solve(costs, setting);
  curve = [];
  for (let n = 1; n <= 1000; n = Math.max(n + 1, Math.min(n * 1.15 | 0, n < 1000 ? 1000 : n * 2)))
    curve.push([n, solve(costs, { ...setting, clients: n }).rate]);
  points = [];
  measuring = null;
  world = new World(costs, setting);
  spots = new Map();
  setPace(factor);
  say();
  $("source").textContent = `Costs: ${costs.source.what}, ${costs.source.cpu}.`;
}

// Simulated seconds a second: a page alone takes a second or so, and each client of
// a crowd gets its page within 15.
function setPace(factor) {
  const alone = solve(costs, { ...setting, clients: 1 }).seconds;
  pace = factor * Math.max(alone / 2, setting.clients / 15 / prediction.rate);
}

// ------------------------------------------------------------------- the stage

// A canvas in its real resolution, cleared; its size in CSS pixels.
function surface(canvas) {
  const scale = devicePixelRatio, { clientWidth: w, clientHeight: h } = canvas;
  const width = Math.round(w * scale), height = Math.round(h * scale);
  if (canvas.width !== width || canvas.height !== height)
    Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, w, h);
  pen.font = "14px system-ui, sans-serif";
  return { pen, w, h };
}

function text(pen, words, x, y, colour = theme.text, align = "left") {
  pen.fillStyle = colour;
  pen.textAlign = align;
  pen.fillText(words, x, y);
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

// The four boxes: beside each other, or on a narrow screen one above the other.
function layout(w, h) {
  const wide = w >= 620, boxes = {}, shares = { tool: .2, queue: .2, server: .42, redis: .18 };
  let begin = 0;
  for (const [name, share] of Object.entries(shares)) {
    boxes[name] = wide ? { x: begin * w, y: 0, w: share * w - 8, h }
                       : { x: 0, y: begin * h, w, h: share * h - 6 };
    begin += share;
  }
  return boxes;
}

function drawStage(seconds) {
  const { pen, w, h } = surface($("stage")), boxes = layout(w, h);
  const at = { tool: [], queue: [], server: [], silent: [] };
  for (const client of world.clients) at[client.place].push(client);
  at.queue = world.listeners.flatMap(one => [...one.waiting]);
  const titles = { tool: `load tool: ${at.tool.length + at.silent.length}`,
    queue: `accept queue: ${at.queue.length}`, server: `server: ${plural(at.server.length,
    "client")}`, redis: `Redis: ${world.redis.orders.length + world.redis.busy}` };
  for (const [name, box] of Object.entries(boxes)) {
    pen.fillStyle = theme.box;
    pen.fillRect(box.x, box.y, box.w, box.h);
    text(pen, titles[name], box.x + 9, box.y + 20);
  }
  drawCores(pen, boxes.server, world.cores, plural(world.cores.count, "core"));
  for (const name of ["tool", "redis"])
    drawCores(pen, boxes[name], name === "tool" ? world.tools[0].cores : world.redis.cores, "");
  const tiles = drawWorkers(pen, boxes.server);
  drawCommands(pen, boxes.redis, tiles);
  if (world.clients.length > MANY) {
    drawCrowd(pen, boxes.tool, at.tool.concat(at.silent));
    drawCrowd(pen, boxes.queue, at.queue);
    if (world.loops.length) drawCrowd(pen, { ...boxes.server, x: boxes.server.x + 20,
                                             w: boxes.server.w - 20 }, at.server);
  } else {
    drawClients(pen, boxes, at, tiles, still.matches ? 1 : 1 - Math.exp(-seconds / .08));
  }
}

// A square a core: green while it computes.
function drawCores(pen, box, cores, words) {
  const size = Math.min(18, box.w / 4 / cores.count), right = box.x + box.w - 6;
  if (box.w > 220)
    text(pen, words, right - cores.count * size - 6, box.y + 20, theme.quiet, "right");
  for (let i = 0; i < cores.count; i++) {
    pen.fillStyle = cores.idle.includes(i) ? theme.idle : theme.run;
    pen.fillRect(right - (i + 1) * size, box.y + 8, size - Math.min(3, size / 4), 14);
  }
}

// A frame a worker, in the colour of its state. Returns where: {thread: tile}.
function drawWorkers(pen, box) {
  const tiles = new Map(), threads = world.threads, loops = world.loops.length;
  const most = world.most ? Math.min(world.most, setting.clients) + 1 : threads.length;
  const { size, at } = cells(box, most, 84), high = (box.h - 36) / loops;
  threads.forEach((thread, i) => {
    const y = box.y + 30 + i * high, [x, middle] = at(i), d = size * .9;
    const lower = high > 60 ? 18 : 0;       // room for the loop's name
    tiles.set(thread, !loops ? { middle: [x, middle] } : { x: box.x + 20, y: y - 30 + lower,
      w: box.w - 22, h: high + 34 - lower, middle: [box.x + 12, y + high / 2] });
    pen.fillStyle = theme[thread.state];
    if (loops) pen.fillRect(box.x + 8, y, 10, high - 3);
    if (loops && lower) text(pen, thread.name, box.x + 27, y + 14, theme.quiet);
    if (loops || thread.ended) return;
    pen.fillRect(x - d / 2, middle - d / 2, d, d);
    pen.fillStyle = theme.ground;
    const inner = d - 2 * Math.max(2, d / 9);
    if (size > 10) pen.fillRect(x - inner / 2, middle - inner / 2, inner, inner);
    if (size > 58 && !thread.client) text(pen, thread.name, x, middle + 5, theme.quiet, "center");
  });
  return tiles;
}

// Commands travel to Redis and back; those that wait there are in its box.
function drawCommands(pen, box, tiles) {
  const now = world.agenda.now, queue = cells(box, 60, 18);
  let here = 0, drawn = 0;
  pen.fillStyle = theme.redis;
  for (const { client, at, begin, half } of world.tokens) {
    const inside = at === "redis", goal = queue.at(inside ? here++ : 0);
    if (inside ? here > 60 : ++drawn > 200) continue;
    const part = Math.min(1, (now - begin) / half);
    const far = inside ? 1 : at === "out" ? part : 1 - part;
    const from = spots.get(client) || tiles.get(client.worker).middle;
    const [x, y] = [0, 1].map(i => from[i] + (goal[i] - from[i]) * far);
    pen.fillRect(x - 5, y - 5, 10, 10);
  }
}

// Each client a disc that moves to where it is now.
function drawClients(pen, boxes, at, tiles, part) {
  const all = world.clients.length, places = new Map();
  const home = cells(boxes.tool, all, 46), line = cells(boxes.queue, all, 46);
  at.queue.forEach((client, i) => places.set(client, line.at(i)));
  for (const client of at.server) {
    const tile = tiles.get(client.worker);
    if (tile && tile.w) places.set(client, cells(tile, all, 46).at(client.number - 1));
    else if (tile) places.set(client, tile.middle);
  }
  const radius = Math.max(4, Math.min(home.size, line.size) * .4);
  pen.font = `${Math.round(radius * .95)}px system-ui, sans-serif`;
  for (const client of world.clients) {
    const goal = places.get(client) || home.at(client.number - 1);
    const spot = spots.get(client) || goal.slice();
    for (const i of [0, 1]) spot[i] += (goal[i] - spot[i]) * part;
    spots.set(client, spot);
    if (client.manner !== "normal") disc(pen, spot, radius + 2.5, theme.client);
    disc(pen, spot, radius, theme[client.state]);
    const pale = !["redis", "run", dark.matches && "idle"].includes(client.state);
    if (radius >= 8) text(pen, client.number, spot[0], spot[1] + radius * .34,
                          pale ? "#1d2430" : "#fff", "center");
  }
}

// A crowd: a square a client, sorted by state, so that areas can be compared.
function drawCrowd(pen, box, clients) {
  const { size, at } = cells(box, world.clients.length, 16);
  let i = 0;
  for (const state of STATES) {
    pen.fillStyle = theme[state];
    for (const client of clients) {
      if (client.state !== state) continue;
      const [x, y] = at(i++);
      pen.fillRect(x - size / 2, y - size / 2, size - 1, size - 1);
    }
  }
}

// ------------------------------------------------------------------ the strips

// As in the timeline: a row a worker and a row a client, the newest at the right.
function drawStrips() {
  const { pen, w, h } = surface($("strips")), now = world.agenda.now, span = pace * 5;
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

// ------------------------------------------------------------------- the chart

// Measure the next point of the curve for some milliseconds.
function measure(milliseconds) {
  const end = performance.now() + milliseconds;
  do {
    if (!measuring) {
      const clients = [setting.clients, ...SWEEP].find(n => !points.some(([done]) => done === n));
      if (!clients) return;
      measuring = { clients,
                    of: new Measurement(costs, { ...setting, clients, seed: 7 }, 2000, 20) };
    }
    const result = measuring.of.work(500);
    if (!result) continue;
    points.push([measuring.clients, result.rate]);
    points.sort((a, b) => a[0] - b[0]);
    measuring = null;
    say();
  } while (performance.now() < end);
}

function say() {
  const here = points.find(([n]) => n === setting.clients);
  $("verdict").textContent = `${plural(setting.clients, "client")}: ` +
    (here ? `simulated ${number(here[1])}, ` : "") + `predicted ${number(prediction.rate)} ` +
    `pages/s. Limit: ${LIMITS[prediction.limit]}.` +
    (setting.silent || setting.slow ? " The prediction leaves out silent and slow clients." : "");
}

function drawChart() {
  const { pen, w, h } = surface($("chart")), left = 62, right = w - 24, foot = h - 38;
  const highest = Math.max(...curve.concat(points).map(([, rate]) => rate));
  const unit = 10 ** Math.floor(Math.log10(highest));
  const top = unit * [1.2, 2, 3, 4, 6, 8, 12].find(n => n * unit >= highest * 1.03);
  const x = n => left + (right - left) * Math.log10(n) / 3;
  const y = rate => foot - (foot - 34) * rate / top;
  const line = (dash, all, colour) => {
    pen.setLineDash(dash);
    pen.strokeStyle = colour;
    pen.lineWidth = 2.5;
    pen.beginPath();
    for (const [n, rate] of all) pen.lineTo(x(n), y(rate));
    pen.stroke();
  };
  for (let i = 0; i <= 4; i++) {
    text(pen, number(top * i / 4), left - 7, y(top * i / 4) + 5, theme.quiet, "right");
    pen.fillStyle = theme.grid;
    pen.fillRect(left, y(top * i / 4), right - left, 1);
  }
  for (const n of [1, 10, 100, 1000])
    text(pen, number(n), x(n), foot + 18, theme.quiet, "center");
  text(pen, "clients", (left + w) / 2, h - 4, theme.quiet, "center");
  text(pen, "pages/s", 0, 13, theme.quiet);
  text(pen, "● simulated", left + 12, 13, theme.accent);
  text(pen, "╌ predicted", left + 112, 13, theme.quiet);
  pen.fillStyle = theme.grid;
  pen.fillRect(x(setting.clients) - 1, 34, 2, foot - 34);
  line([7, 5], curve, theme.quiet);
  line([], points, theme.accent);
  for (const [n, rate] of points)
    disc(pen, [x(n), y(rate)], n === setting.clients ? 8 : 4.5, theme.accent);
}

// --------------------------------------------------------------------- a frame

// Let simulated time pass. A gap of more than a second on the screen is skipped.
function pass(seconds) {
  const goal = world.agenda.now + seconds * pace, first = world.agenda.heap[0];
  if (first && first.time > world.agenda.now + pace) world.advance(first.time, 1);
  else world.advance(goal, 3000);
}

function draw(seconds) {
  if (!paused) pass(seconds);
  for (; steps > 0; steps--) world.advance(Infinity, 1);
  drawStage(seconds);
  drawStrips();
  measure(2);
  drawChart();
  const { pages, seconds: waited } = world.measure;
  $("now").textContent = `${duration(world.agenda.now)} simulated, slowed down ` +
    `${number(1 / pace, 2)} times. ${plural(pages, "page")}` +
    (pages ? `, each took ${duration(waited / pages)} on average.` : ".");
}

function frame(time) {
  draw(Math.min(.05, (time - last) / 1000));
  last = time;
  requestAnimationFrame(frame);
}

// ---------------------------------------------------------------- the controls

function togglePause() {
  paused = !paused;
  $("pause").textContent = paused ? "Continue" : "Pause";
}

// One event, or several when there was no frame in between.
function stepOnce() { if (!paused) togglePause(); steps++; }

function changePace(by) {
  $("pace").value = Number($("pace").value) + by;
  setPace(readControls().pace);
}

async function loadCosts(file) {
  try {
    const found = JSON.parse(await file.text());
    for (const server in WORKERS) solve(found, { server });
    costs = found;
    restart();
  } catch (error) {
    $("source").textContent = `${file.name} holds no costs: ${error.message}`;
  }
}

addEventListener("input", event => {
  if (event.target.id === "pace") changePace(0);
  else if (event.target.id !== "file") restart();
});
for (const [id, act] of [["pause", togglePause], ["step", stepOnce], ["again", restart]])
  $(id).onclick = act;
$("file").onchange = event => loadCosts(event.target.files[0]);
addEventListener("dragover", event => event.preventDefault());
addEventListener("drop", event => {
  event.preventDefault();
  if (event.dataTransfer.files[0]) loadCosts(event.dataTransfer.files[0]);
});
addEventListener("keydown", event => {
  const { key, target } = event, ways = { ".": stepOnce, r: restart, " ": togglePause,
    "+": () => changePace(1), "-": () => changePace(-1) };
  const server = document.querySelectorAll("[name=server]")[key - 1];
  // On a button, in a list and in a box, space has its usual meaning.
  const usual = key === " " && target.matches("button, select, [type=checkbox], [type=file]");
  if (event.ctrlKey || event.altKey || event.metaKey || usual || !ways[key] && !server) return;
  event.preventDefault();
  if (!server) return ways[key]();
  server.checked = true;
  server.focus();
  restart();
});
dark.addEventListener("change", readTheme);
readTheme();
restart();
requestAnimationFrame(frame);
