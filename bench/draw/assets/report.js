"use strict";

// The figures are in the page as JSON (summary.json). Everything here draws
// them: a curve or bars for each experiment, the published ones over ours,
// and the cost table. Log axes; a hollow point has lost requests or runs, and
// stands at the lower edge when nothing was answered.

const data = JSON.parse(document.getElementById("data").textContent);
const servers = new Map(data.servers.map(s => [s.name, s]));
const columns = new Map(data.columns.map(c => [c.key, c]));
const hidden = new Set();
const dark = matchMedia("(prefers-color-scheme: dark)");
const redraw = [];          // what to call when something changes

const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes, ...children) {
  const svg = ["svg", "g", "path", "line", "rect", "text", "title"];
  const node = svg.includes(name) ? document.createElementNS(SVG, name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter(c => c !== null));
  return node;
}

const colour = name => {
  const s = servers.get(name);
  return s ? (dark.matches ? s.dark : s.light) : "var(--quiet)";
};

function marker(name, x, y, size, hollow) {
  const shape = data.markers[(servers.get(name) || {marker: "circle"}).marker];
  return make("path", {
    class: "marker", d: shape, transform: `translate(${x},${y}) scale(${size})`,
    fill: hollow ? "var(--ground)" : colour(name), stroke: colour(name),
    "vector-effect": "non-scaling-stroke",
  });
}

function sign(name) {
  return make("svg", {class: "sign", viewBox: "-7 -7 14 14", "aria-hidden": "true"},
    marker(name, 0, 0, 4.6, false));
}

// ------------------------------------------------------------- numbers

function format(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size >= 1000) {
    const step = 10 ** (Math.floor(Math.log10(size)) - 2);
    return (Math.round(value / step) * step).toLocaleString("en");
  }
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return value === 0 ? "0" : String(Number(value.toFixed(2)));
}

function short(value) {
  for (const [unit, size] of [["M", 1e6], ["k", 1e3]]) {
    if (value >= size) return Number((value / size).toPrecision(3)) + unit;
  }
  return String(Number(value.toPrecision(3)));
}

function logTicks(low, high) {
  const ticks = [];
  const wide = Math.log10(high / low) > 3.2;
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const step of wide ? [1] : [1, 2, 5]) {
      const tick = step * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

function linearTicks(high) {
  const rough = high / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough);
  const ticks = [];
  for (let tick = 0; tick <= high * 1.001; tick += step) ticks.push(tick);
  return ticks;
}

function scale(low, high, from, to, logarithmic) {
  const at = logarithmic ? Math.log : Number;
  const span = at(high) - at(low) || 1;
  return value => from + (at(value) - at(low)) / span * (to - from);
}

// ------------------------------------------------------------- figures

// What a metric is at a point: {value, low, high}, or null.
function valueOf(point, key) {
  if (!point.rate) return null;
  if (key === "rate") {
    return {value: point.rate.median, low: point.rate.low, high: point.rate.high};
  }
  const value = point.values[key];
  return value === null || value === undefined ? null : {value, low: value, high: value};
}

// Whether a point has no height: nothing was answered, or every run broke.
const lostAll = point => point.rate ? !point.rate.median : point.hollow;

// Where a metric stands in a chart: as valueOf, but who lost all stands at 0.
function placeOf(point, key) {
  return key === "rate" && lostAll(point) ? {value: 0, low: 0, high: (point.rate || {high: 0}).high}
    : valueOf(point, key);
}

// The line through points {x, value, fallen}: it ends before one that has
// fallen, and begins anew after it.
function linePath(points, x, y) {
  let pen = "M";
  return points.map(p => {
    const step = p.fallen ? "" : `${pen}${x(p.x)},${y(p.value)}`;
    pen = p.fallen ? "M" : "L";
    return step;
  }).join("");
}

function curvesOf(experiment, variant) {
  return experiment.curves.filter(c => c.variant === variant);
}

function metricsOf(experiment) {
  const wanted = ["rate", "cpu_us", "cpu_user_us", "cpu_system_us", "p50_ms",
    "p99_ms", "max_ms", "mean_ms", "failed_percent", "switches", "faults",
    "processes", "threads", "pss_mib", "open_connections",
    "bytes_per_connection", "accept_queue", "overflows", "syn_cookies",
    "server_busy", "load_busy", "redis_busy"];
  return wanted.filter(key => experiment.curves.some(c => c.points.some(p => {
    const figure = valueOf(p, key);
    return figure && figure.value > 0;
  })));
}

function metricTitle(experiment, key) {
  if (key === "rate") return experiment.unit;
  const column = columns.get(key);
  return column.unit ? `${column.title}, ${column.unit}` : column.title;
}

// -------------------------------------------------------------- charts

function frame(width, height, label) {
  return make("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
}

function axes(svg, box, xTicks, x, xTitle, yTicks, y, yText) {
  for (const tick of yTicks) {
    svg.append(make("line", {class: "tick", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick)}),
      make("text", {x: box.left - 8, y: y(tick) + 4, "text-anchor": "end"}, yText(tick)));
  }
  let free = -Infinity;
  for (const tick of xTicks) {
    const place = x(tick);
    svg.append(make("line", {class: "tick", x1: place, x2: place, y1: box.top, y2: box.bottom}));
    const text = short(tick);
    if (place - 4 * text.length > free) {
      svg.append(make("text", {x: place, y: box.bottom + 17, "text-anchor": "middle"}, text));
      free = place + 4 * text.length + 4;
    }
  }
  svg.append(make("path", {class: "axis", d: `M${box.left},${box.top}V${box.bottom}H${box.right}`}),
    make("text", {x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle"}, xTitle));
}

function lineChart(host, experiment, variant, key, logarithmic) {
  const width = Math.max(340, host.clientWidth), height = Math.max(300, Math.min(420, width * 0.56));
  const box = {left: 58, right: width - 14, top: 12, bottom: height - 44};
  const curves = curvesOf(experiment, variant).filter(c => !hidden.has(c.server))
    .map(c => ({name: c.server, points: c.points
      .map(p => ({x: p.x, point: p, ...placeOf(p, key)}))
      .filter(p => p.value !== undefined)
      .map(p => ({...p, fallen: key === "rate" ? lostAll(p.point) : logarithmic && p.value <= 0}))}))
    .filter(c => c.points.length);
  const title = `${experiment.title}: ${metricTitle(experiment, key)} by ${experiment.x_title}`;
  const svg = frame(width, height, title);
  const all = curves.flatMap(c => c.points);
  if (!all.some(p => p.value > 0)) {
    svg.append(make("text", {x: width / 2, y: height / 2, "text-anchor": "middle"},
      "No figures for the servers chosen"));
    return svg;
  }
  const xs = [...new Set(all.map(p => p.x))].sort((a, b) => a - b);
  const x = scale(xs[0], xs[xs.length - 1], box.left + 14, box.right - 14, true);
  const highest = Math.max(...all.map(p => p.high)) * 1.06;
  const positive = all.flatMap(p => [p.low, p.value]).filter(v => v > 0);
  const lowest = logarithmic ? Math.min(...positive, highest / 1.5) / 1.06 : 0;
  const place = scale(lowest, highest, box.bottom, box.top, logarithmic);
  const y = value => place(Math.max(value, lowest));
  axes(svg, box, xs.length <= 9 ? xs : logTicks(xs[0], xs[xs.length - 1]), x, experiment.x_title,
    logarithmic ? logTicks(lowest, highest) : linearTicks(highest), y, short);
  if (experiment.open_loop && key === "rate") {
    const inside = xs.filter(v => v >= lowest && v <= highest);
    svg.append(make("path", {class: "guide", fill: "none",
      d: inside.map((v, i) => (i ? "L" : "M") + x(v) + "," + y(v)).join("")}));
  }
  for (const curve of curves) {
    const group = make("g", {"data-server": curve.name});
    group.append(make("path", {class: "curve", stroke: colour(curve.name),
      "stroke-dasharray": servers.get(curve.name).dash ? "6 4" : null,
      d: linePath(curve.points, x, y)}));
    for (const p of curve.points) {
      if (p.high > p.low) {
        group.append(make("line", {class: "whisker", stroke: colour(curve.name), x1: x(p.x), x2: x(p.x),
          y1: y(p.high), y2: y(p.low)}));
      }
    }
    for (const p of curve.points) {
      group.append(marker(curve.name, x(p.x), y(p.value), 5, p.point.hollow || lostAll(p.point)));
    }
    svg.append(group);
  }
  hover(host, svg, experiment, variant, key, xs, x, box, width);
  return svg;
}

// A guide at the nearest x and a list of what all servers have there.
function hover(host, svg, experiment, variant, key, xs, x, box, width) {
  const guide = make("line", {class: "guide", y1: box.top, y2: box.bottom, visibility: "hidden"});
  svg.append(guide);
  const tip = host.querySelector(".tip");
  let at = -1;
  const show = index => {
    at = index;
    const value = xs[at];
    guide.setAttribute("x1", x(value));
    guide.setAttribute("x2", x(value));
    guide.setAttribute("visibility", "visible");
    const rows = curvesOf(experiment, variant).filter(c => !hidden.has(c.server))
      .map(c => ({name: c.server, point: c.points.find(p => p.x === value)}))
      .filter(r => r.point)
      .map(r => ({...r, figure: valueOf(r.point, key)}))
      .sort((a, b) => (b.figure ? b.figure.value : -1) - (a.figure ? a.figure.value : -1));
    tip.replaceChildren(make("b", {}, `${value.toLocaleString("en")} ${experiment.x_short}`),
      make("table", {}, ...rows.map(r => make("tr", {},
        make("td", {}, sign(r.name), " ", servers.get(r.name).title),
        make("td", {}, r.figure ? format(r.figure.value) : "\u2013"),
        make("td", {}, remarks(r.point))))));
    tip.style.display = "block";
    const left = x(value) / width * host.clientWidth;
    const room = left + 16 + tip.offsetWidth > host.clientWidth;
    tip.style.left = Math.max(0, room ? left - 16 - tip.offsetWidth : left + 16) + "px";
    tip.style.top = "24px";
  };
  const hide = () => {
    guide.setAttribute("visibility", "hidden");
    tip.style.display = "none";
  };
  svg.addEventListener("pointermove", event => {
    const place = svg.getBoundingClientRect();
    const here = (event.clientX - place.left) / place.width * width;
    const distance = v => Math.abs(x(v) - here);
    show(xs.indexOf(xs.reduce((a, b) => distance(b) < distance(a) ? b : a)));
  });
  svg.addEventListener("pointerleave", hide);
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step) {
      show(Math.max(0, Math.min(xs.length - 1, at + step)));
      event.preventDefault();
    }
  });
}

const runsOf = point => `${point.runs} of ${point.planned} runs`;

function remarks(point) {
  if (!point.rate) return point.notes.join("; ").slice(0, 60);
  const words = [];
  if (point.spread) words.push(`\u00b1${(point.spread / 2).toFixed(0)} %`);
  if (point.runs < point.planned) words.push(runsOf(point));
  if (point.noisy.length) words.push("noisy: " + point.noisy.join(", "));
  if (point.hollow) words.push(point.values.failed_percent > 0
    ? `${format(point.values.failed_percent)} % lost` : point.statuses.join(", "));
  return words.join(", ");
}

// Bars for an experiment with one x, or one that was published so.
// rows: [{name, title, value, low, high, hollow, quiet, text}]
function barChart(host, label, rows) {
  const width = Math.max(320, host.clientWidth), step = 26;
  const height = rows.length * step + 14;
  const left = 10 + 7.2 * Math.max(...rows.map(r => r.title.length), 4);
  const most = Math.max(...rows.map(r => r.high || r.value), 1e-9);
  const x = scale(0, most, left, width - 74, false);
  const svg = frame(width, height, label);
  rows.forEach((row, index) => {
    const top = 6 + index * step, tint = row.quiet ? "var(--quiet)" : colour(row.name);
    const bar = make("rect", {x: left, y: top + 3, height: step - 9, rx: 2,
      width: Math.max(1, x(row.value) - left), fill: row.hollow ? "none" : tint, stroke: tint,
      "stroke-dasharray": row.hollow ? "3 2" : null, "fill-opacity": row.quiet ? 0.35 : 1});
    svg.append(make("text", {class: "name", x: left - 8, y: top + 16, "text-anchor": "end"}, row.title),
      bar, make("text", {x: x(row.high || row.value) + 8, y: top + 16}, row.text));
    if (row.high > row.low) {
      svg.append(make("line", {class: "whisker", stroke: "var(--text)", x1: x(row.low), x2: x(row.high),
        y1: top + step / 2 - 1, y2: top + step / 2 - 1}));
    }
  });
  return svg;
}

function singleBars(host, experiment, variant, key) {
  const rows = curvesOf(experiment, variant).filter(c => !hidden.has(c.server))
    .map(c => ({curve: c, point: c.points[0]}))
    .map(r => ({...r, figure: placeOf(r.point, key)})).filter(r => r.figure)
    .map(r => ({name: r.curve.server, title: servers.get(r.curve.server).title, ...r.figure,
      hollow: r.point.hollow || lostAll(r.point), text: format(r.figure.value)}));
  return barChart(host, `${experiment.title}: ${metricTitle(experiment, key)}`, rows);
}

// Published figures over ours, each normalised to its own best.
function publishedChart(host, experiment, variant) {
  const published = experiment.published;
  if (Object.keys(published.best).length) {
    const best = Math.max(...Object.values(published.best));
    const ours = curvesOf(experiment, variant).filter(c => !hidden.has(c.server) && c.best !== null)
      .map(c => ({name: c.server, title: servers.get(c.server).title, best: c.points.find(p => p.x === c.best)}))
      .map(c => ({...c, rate: c.best.rate.median, hollow: c.best.hollow}));
    const top = Math.max(...ours.map(o => o.rate), 1e-9);
    const rows = [
      ...ours.map(o => ({...o, value: 100 * o.rate / top, text: (100 * o.rate / top).toFixed(0) + " %"})),
      ...Object.entries(published.best).map(([title, rate]) => ({name: title, title, quiet: true,
        value: 100 * rate / best, text: (100 * rate / best).toFixed(0) + " %"})),
    ].sort((a, b) => b.value - a.value);
    return barChart(host, "Published figures and ours", rows);
  }
  const width = Math.max(340, host.clientWidth), height = Math.max(300, Math.min(420, width * 0.85));
  const box = {left: 46, right: width - 14, top: 12, bottom: height - 44};
  const normal = points => {
    const best = Math.max(...points.map(p => p.value));
    return points.map(p => ({...p, value: 100 * p.value / best}));
  };
  const lines = [];
  for (const [title, points] of Object.entries(published.series)) {
    const same = data.servers.find(s => s.published_as === title);
    if (!same || !hidden.has(same.name)) {
      lines.push({title, name: same ? same.name : title, published: true,
        points: normal(points.map(([x, value]) => ({x, value})))});
    }
  }
  for (const curve of curvesOf(experiment, variant)) {
    const points = curve.points.map(p => ({x: p.x, fallen: lostAll(p), hollow: p.hollow || lostAll(p),
      ...placeOf(p, "rate")})).filter(p => p.value !== undefined);
    if (points.some(p => p.value > 0) && !hidden.has(curve.server)) {
      lines.push({title: curve.server, name: curve.server, published: false, points: normal(points)});
    }
  }
  const svg = frame(width, height, "Published curves over ours, each as a share of its own best");
  const xs = lines.flatMap(l => l.points.map(p => p.x));
  if (!xs.length) return svg;
  const low = Math.min(...xs), high = Math.max(...xs);
  const x = scale(low, high, box.left + 10, box.right - 10, true);
  const y = scale(0, 104, box.bottom, box.top, false);
  axes(svg, box, logTicks(low, high), x, experiment.x_title, [0, 20, 40, 60, 80, 100], y, v => v + " %");
  for (const line of lines) {
    const tint = colour(line.name);
    const path = make("path", {class: "curve", stroke: tint,
      "stroke-dasharray": line.published ? "3 4" : null, "stroke-opacity": line.published ? 0.75 : 1,
      d: linePath(line.points, x, y)});
    path.append(make("title", {}, line.title + (line.published ? ", published" : ", measured here")));
    svg.append(path);
    if (!line.published) {
      for (const p of line.points) svg.append(marker(line.name, x(p.x), y(p.value), 4, p.hollow));
    } else if (!servers.has(line.name)) {
      const last = line.points[line.points.length - 1];
      svg.append(make("text", {x: x(last.x) - 4, y: y(last.value) - 6, "text-anchor": "end"}, line.title));
    }
  }
  return svg;
}

// --------------------------------------------------------------- table

const TABLE = ["rate", "p50_ms", "p99_ms", "max_ms", "mean_ms", "failed_percent", "cpu_us", "cpu_user_us",
  "cpu_system_us", "switches", "calls", "faults", "processes", "threads", "pss_mib", "open_connections",
  "bytes_per_connection", "overflows", "syn_cookies", "limit"];
const HIGHER = new Set(["rate", "open_connections"]);
const PLAIN = new Set(["processes", "threads", "limit"]);   // neither better nor worse

function costTable(experiment, variant, x, order, sort) {
  const rows = curvesOf(experiment, variant).filter(c => !hidden.has(c.server)).map(curve => {
    const point = curve.points.find(p => p.x === x);
    const calls = experiment.calls[`${curve.server}/${variant}`] || {};
    const cells = {};
    for (const key of TABLE) {
      if (key === "calls") cells[key] = calls.all;
      else if (key === "limit") cells[key] = point && point.limit;
      else cells[key] = point && valueOf(point, key) ? valueOf(point, key).value : null;
    }
    return {curve, point, calls, cells};
  }).filter(row => row.point);
  const known = key => rows.some(r => r.cells[key] !== null && r.cells[key] !== undefined);
  const used = TABLE.filter(key => known(key) && !(key === "mean_ms" && known("p50_ms")));
  if (order.key) {
    const rank = r => r.cells[order.key];
    rows.sort((a, b) => (rank(a) > rank(b) ? 1 : -1) * (order.down ? -1 : 1));
  }
  // The best of a column is marked, and who overlaps it; not who lost something.
  const rivals = rows.filter(r => !r.point.hollow);
  const range = (row, key) => key === "rate" ? [row.point.rate.low, row.point.rate.high]
    : key === "cpu_us" && row.point.intervals.cpu_us || [row.cells[key], row.cells[key]];
  const best = {};
  for (const key of used) {
    const known = rivals.filter(r => typeof r.cells[key] === "number")
      .sort((a, b) => (a.cells[key] - b.cells[key]) * (HIGHER.has(key) ? -1 : 1));
    if (!PLAIN.has(key) && known.length > 1 && known[0].cells[key] !== known[known.length - 1].cells[key]) {
      best[key] = range(known[0], key);
    }
  }
  const mark = (row, key) => {
    if (!best[key] || row.point.hollow || typeof row.cells[key] !== "number") return null;
    const [low, high] = range(row, key);
    return low <= best[key][1] && high >= best[key][0] ? "low" : null;
  };
  const head = key => {
    const column = key === "rate" ? {title: experiment.unit, unit: ""}
      : key === "calls" ? {title: "system calls", unit: `/request, at ${experiment.calls_at.toLocaleString("en")}`}
      : key === "limit" ? {title: "limit", unit: ""} : columns.get(key);
    return make("th", {scope: "col", class: key === "limit" ? "words" : null, title: column.explain || null},
      make("button", {type: "button", onclick: () => sort(key)}, column.title,
        order.key === key ? (order.down ? " \u2193" : " \u2191") : ""),
      make("small", {}, column.unit || ""));
  };
  const cell = (row, key) => {
    const value = row.cells[key];
    if (key === "limit") {
      return make("td", {class: "words",
        title: row.point.evidence ? `in the run whose rate is the median: ${row.point.evidence}` : null},
        row.point.rate ? value || "" : row.point.notes.join("; "));
    }
    if (key === "calls") {
      const list = Object.entries(row.calls).filter(c => c[1] >= 0.005)
        .map(c => `${c[0]} ${format(c[1])}`).join("\n");
      return make("td", {title: list || null, class: mark(row, key)}, format(value));
    }
    const lost = key === "rate" && row.point.hollow ? "\u25cb " : "";
    const spread = key === "rate" && row.point.spread ? ` \u00b1${(row.point.spread / 2).toFixed(0)} %` : "";
    const runs = key === "rate" && row.point.runs < row.point.planned ? `, ${runsOf(row.point)}` : "";
    return make("td", {class: mark(row, key),
      title: key === "rate" && lost ? row.point.notes.join("; ") || "lost requests" : null},
      lost + format(value) + spread + runs);
  };
  return make("table", {class: "cost"},
    make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "server"), ...used.map(head))),
    make("tbody", {}, ...rows.map(row => make("tr", {},
      make("td", {}, sign(row.curve.server), " ", servers.get(row.curve.server).title),
      ...used.map(key => cell(row, key))))));
}

// ------------------------------------------------------------- sections

function section(experiment) {
  const host = document.getElementById(experiment.name);
  const state = {variant: experiment.variants[0], key: "rate", log: true, x: null, order: {key: null}};
  const chart = host.querySelector(".chart"), over = host.querySelector(".published");
  const table = host.querySelector(".cost-table"), controls = host.querySelector(".controls");
  const caption = text => make("figcaption", {}, text);
  const pick = make("select", {"aria-label": "What the curves show",
    onchange: event => { state.key = event.target.value; draw(); }},
  ...metricsOf(experiment).map(key => make("option", {value: key}, metricTitle(experiment, key))));
  const log = make("input", {type: "checkbox", checked: "",
    onchange: event => { state.log = event.target.checked; draw(); }});
  const where = make("select", {"aria-label": "Row of the grid in the table",
    onchange: event => { state.x = Number(event.target.value); draw(); }});
  const tabs = make("span", {class: "tabs"}, ...experiment.variants.map(name =>
    make("button", {type: "button", "data-variant": name,
      onclick: () => { state.variant = name; state.x = null; draw(); }}, name)));
  controls.append(...(experiment.variants.length > 1 ? [tabs] : []), pick,
    make("label", {class: "log"}, log, " logarithmic"));
  table.previousElementSibling.append(make("span", {class: "quiet at"}, " at "), where);

  function draw() {
    for (const tab of tabs.children) {
      tab.setAttribute("aria-pressed", tab.dataset.variant === state.variant);
    }
    for (const node of host.querySelectorAll("[data-of-variant]")) {
      node.hidden = node.dataset.ofVariant !== state.variant;
    }
    const curves = curvesOf(experiment, state.variant);
    const xs = [...new Set(curves.flatMap(c => c.points.map(p => p.x)))].sort((a, b) => a - b);
    if (state.x === null || !xs.includes(state.x)) {
      const away = v => Math.abs(v - experiment.reference);
      state.x = xs.reduce((a, b) => away(b) < away(a) ? b : a);
    }
    where.replaceChildren(...xs.map(v => make("option", {value: v, ...(v === state.x ? {selected: ""} : {})},
      `${v.toLocaleString("en")} ${experiment.x_short}`)));
    const single = xs.length === 1;
    host.querySelector(".log").hidden = single;
    chart.replaceChildren(
      caption(single ? `${metricTitle(experiment, state.key)}, ${xs[0].toLocaleString("en")} ${experiment.x_short}`
        : `${metricTitle(experiment, state.key)} by ${experiment.x_title}; hollow: requests or runs were lost, `
          + "at the lower edge: all of them; bars: smallest to largest of the runs"),
      make("div", {class: "tip"}));
    chart.append(single ? singleBars(chart, experiment, state.variant, state.key)
      : lineChart(chart, experiment, state.variant, state.key, state.log));
    if (over) {
      over.replaceChildren(caption(Object.keys(experiment.published.best).length
        ? "Published (grey) beside ours, each as a share of the best"
        : "Published (dotted) over ours, each as a share of its own best"),
        publishedChart(over, experiment, state.variant));
    }
    table.replaceChildren(costTable(experiment, state.variant, state.x, state.order, key => {
      state.order = {key, down: state.order.key === key ? !state.order.down : HIGHER.has(key)};
      draw();
    }));
  }
  redraw.push(draw);
}

function legend() {
  const host = document.getElementById("legend");
  const draw = () => host.replaceChildren(...data.servers.map(s => make("button", {
    type: "button", "aria-pressed": String(!hidden.has(s.name)), title: s.note || null,
    onclick: () => { hidden.has(s.name) ? hidden.delete(s.name) : hidden.add(s.name); everything(); },
    ondblclick: () => {
      const alone = data.servers.every(o => hidden.has(o.name) === (o.name !== s.name));
      hidden.clear();
      if (!alone) data.servers.forEach(o => o.name !== s.name && hidden.add(o.name));
      everything();
    },
  }, sign(s.name), s.title)));
  redraw.push(draw);
}

function everything() {
  for (const draw of redraw) draw();
  for (const node of document.querySelectorAll("[data-sign]")) {
    node.replaceChildren(sign(node.dataset.sign));
  }
}

legend();
data.experiments.forEach(section);
everything();
dark.addEventListener("change", everything);
let later = 0;
let before = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === before) return;
  before = innerWidth;
  clearTimeout(later);
  later = setTimeout(everything, 150);
});
