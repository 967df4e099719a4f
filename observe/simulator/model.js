// What the model predicts. The same laws and the same numbers as
// bench/analyse/model.py, whose comments explain them; a test compares the two.
// Pure: nothing here knows of a page.
"use strict";

const TRIPS = { "guestbook": 3, "guestbook kept": 3 };
const WORKERS = { iterative: 1, forking: 128, preforking: 100, threaded: 256,
                  prethreaded: 100, poll: Infinity, epoll: Infinity };
const ONE_CORE = ["iterative", "poll"];
const MAKERS = ["forking", "threaded"];
const PARENT = 0.5, FULL = 0.9;
const DEFAULTS = { server: "epoll", page: "guestbook", clients: 100, cores: 1,
                   workers: null, redisMs: 0, machines: 1 };

// How many clients are served at the same time, at most.
function slotsOf(setting) {
  const own = WORKERS[setting.server];
  return own === 1 || own === Infinity ? own : setting.workers || own;
}

const coresOf = setting => ONE_CORE.includes(setting.server) ? 1 : setting.cores;
const isKept = setting => setting.page.endsWith(" kept");
const without = setting => ({ ...setting, page: setting.page.split(" ")[0] });

// 01 to 05 close kept connections when more clients come than they have workers.
const crowded = setting => isKept(setting) && setting.clients > slotsOf(setting);

// CPU of a page, in microseconds. A server that `closes` kept connections serves
// `pages_each` pages on each. No run measured the guestbook on kept connections: it
// saves what a kept connection saves the answer.
function costOf(costs, server, page, closes = false) {
  const known = costs.servers[server], cost = {};
  const kept = known["answer kept"], share = 1 / (closes && kept.pages_each || 1);
  for (const key of ["server_us", "redis_us", "load_us"]) {
    const saved = page === "guestbook kept" ? known.answer[key] - kept[key] : 0;
    const own = known[page.replace("guestbook kept", "guestbook")][key] - Math.max(0, saved);
    cost[key] = closes ? share * known[page.split(" ")[0]][key] +
                         (1 - share) * Math.max(0, own) : Math.max(0, own);
  }
  return cost;
}

// Seconds for a page at each station; `delay` needs no CPU, `serial` is the part of
// `server` that one thread does for all.
function demands(costs, setting) {
  const machine = costs.machine, closes = crowded(setting);
  const cost = costOf(costs, setting.server, setting.page, closes);
  const memory = costs.memory[closes ? setting.page.split(" ")[0] : setting.page] ||
                 costs.memory["answer kept"];
  const cold = kib => kib / (kib + machine.cache_kib);
  const lineUs = machine.miss_ns / 1000 * 1024 / 64;
  const slots = slotsOf(setting), held = memory.held_kib;
  const active = slots > 1 && slots < Infinity ? Math.min(setting.clients, slots) : 0;
  let made = 0;
  if (MAKERS.includes(setting.server) && (closes || !isKept(setting)))
    made = PARENT * Math.max(0, costOf(costs, setting.server, "answer").server_us -
                                costOf(costs, "iterative", "answer").server_us);
  return {
    server: 1e-6 * (cost.server_us + lineUs * (
      cold(setting.clients * held) * memory.server_kib +
      cold(active * (held + memory.worker_kib)) * memory.worker_kib)),
    redis: 1e-6 * cost.redis_us,
    load: 1e-6 * (cost.load_us + lineUs * memory.load_kib *
                  cold(setting.clients / setting.machines * held)),
    delay: (TRIPS[setting.page] || 0) *
           (1e-6 * machine.wake_us + 1e-3 * setting.redisMs),
    scan: setting.server === "poll" ? 1e-6 * machine.scan_us : 0,
    serial: 1e-6 * made };
}

// The mean number of jobs at a station with one core: Schweitzer's
// approximation. `turn` seconds are spent once for all jobs that are there.
function waiting(rate, demand, others, turn = 0) {
  let room = 1 - rate * others * demand;
  if (room <= 0) return Infinity;
  const half = rate * (demand + others * turn) / (2 * room);
  const jobs = half + Math.sqrt(half * half + rate * turn / room);
  if (jobs >= 1) return jobs;
  room -= rate * others * turn;
  return room > 0 ? rate * (demand + turn) / room : Infinity;
}

// The mean number of clients at all stations together; `inside`: only at those where
// a worker is held. Several cores count as one that is as fast as all of them.
function jobsAt(rate, need, setting, inside) {
  const count = inside ? slotsOf(setting) : setting.clients;
  const others = (count - 1) / count, cores = coresOf(setting);
  const tools = setting.machines, shared = tools === 1;
  const spread = (demand, many, turn) => waiting(rate, demand / many, others, turn);
  const load = inside ? 0 : spread(need.load + (shared ? need.redis : 0), tools);
  const slower = shared ? 1 + Math.min(1, rate * need.load) : 1;
  const redis = inside || !shared ? waiting(rate, need.redis * slower, others) : 0;
  const watched = Math.min(setting.clients, isKept(setting) ? setting.clients : load);
  return load + redis + rate * need.delay + spread(need.server, cores, need.scan * watched);
}

// The rate at which all clients (`inside`: all workers) are somewhere.
function highest(need, setting, inside) {
  const count = inside ? slotsOf(setting) : setting.clients;
  let low = 0;
  let high = count / (need.server + need.redis + need.delay + (inside ? 0 : need.load));
  for (let i = 0; i < 60; i++) {
    const rate = (low + high) / 2;
    if (jobsAt(rate, need, setting, inside) > count) high = rate;
    else low = rate;
  }
  return low;
}

// The prediction: {rate (pages a second), seconds (a page), limit}.
function solve(costs, asked) {
  const setting = { ...DEFAULTS, ...asked };
  const need = demands(costs, setting);
  const rates = { clients: highest(need, setting, false) };
  if (setting.clients > slotsOf(setting))
    rates.workers = highest(need, setting, true);
  if (need.serial && setting.cores > 1) rates.parent = 1 / need.serial;
  let limit = Object.keys(rates).reduce((a, b) => rates[b] < rates[a] ? b : a);
  const rate = rates[limit];
  const busy = { server: rate * need.server / coresOf(setting),
    ...(setting.machines === 1 ? { shared: rate * (need.redis + need.load) }
        : { redis: rate * need.redis, load: rate * need.load / setting.machines }) };
  const fullest = Object.keys(busy).reduce((a, b) => busy[b] > busy[a] ? b : a);
  if (limit !== "parent" && busy[fullest] >= FULL) limit = fullest;
  return { rate, seconds: setting.clients / rate, limit };
}
