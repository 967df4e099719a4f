// What the model predicts. The same laws and the same numbers as
// tools/model/model.py, whose comments explain them; a test compares the two.
// Pure: nothing here knows of a page.
"use strict";

const TRIPS = { guestbook: 3 };
const WORKERS = /*WORKERS*/;
const ONE_CORE = /*ONE_CORE*/;
const MAKERS = /*MAKERS*/;
const PARENT = 0.5, FULL = 0.9;
const DEFAULTS = { server: "epoll", page: "guestbook", clients: 100, cores: 1,
                   workers: null, redisMs: 0, machines: 1, computing: 0, computeMs: 20 };

// How many clients are served at the same time, at most.
function slotsOf(setting) {
  const own = WORKERS[setting.server];
  return own === 1 || own === Infinity ? own : setting.workers || own;
}

const coresOf = setting => ONE_CORE.includes(setting.server) ? 1 : setting.cores;
const isKept = setting => setting.page === "answer kept";
const crowded = setting => isKept(setting) && setting.clients > slotsOf(setting);
const fresh = page => page.split(" ")[0];       // the same on a new connection

// Microseconds for what has left the caches, because heldKib were used in between.
function fetched(machine, heldKib, touchedKib) {
  const wait = (size, time) => machine[time] * heldKib / (heldKib + machine[size]);
  return touchedKib * 1024 / 64 / 1000 *
         (wait("core_kib", "core_ns") + wait("cache_kib", "miss_ns"));
}

// Seconds for a page at each station; `delay` needs no CPU, `serial` is the part of
// `server` that one thread does for all.
function demands(costs, setting) {
  const { server, page, clients, machines } = setting, { machine, servers } = costs;
  const own = servers[server], slots = slotsOf(setting);
  const asked = crowded(setting) ? fresh(page) : page;
  const cost = own[asked], memory = costs.memory[asked];
  const held = memory.held_kib, worker = memory.worker_kib;
  const active = slots > 1 && slots < Infinity ? Math.min(clients, slots) : 0;
  const made = own.answer.server_us - servers.iterative.answer.server_us;
  return {
    server: 1e-6 * (cost.server_us + fetched(machine, clients * held, memory.server_kib) +
                    fetched(machine, active * (held + worker), worker)) +
            1e-3 * setting.computing * setting.computeMs,
    redis: 1e-6 * cost.redis_us,
    load: 1e-6 * (cost.load_us + fetched(machine, clients / machines * held,
                                            memory.load_kib)),
    delay: (TRIPS[page] || 0) * (1e-6 * machine.wake_us + 1e-3 * setting.redisMs),
    scan: server === "poll" ? 1e-6 * machine.scan_us : 0,
    serial: MAKERS.includes(server) && asked === fresh(page)
      ? 1e-6 * PARENT * Math.max(0, made) : 0 };
}

// Pages a second that the thread that makes workers allows: Erlang's loss formula.
function makersRate(need, cores) {
  const load = need.server / need.serial - 1;
  let lost = 1;
  for (let lines = 1; lines <= cores; lines++) lost = load * lost / (lines + load * lost);
  return (1 - lost) / need.serial;
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
  const least = need.server + need.redis + need.delay + (inside ? 0 : need.load);
  let low = 0, high = count / least;
  for (let i = 0; i < 60; i++) {
    const rate = (low + high) / 2;
    if (jobsAt(rate, need, setting, inside) > count) high = rate;
    else low = rate;
  }
  return low;
}

// The prediction: {rate (pages a second), seconds (a page), limit}.
function solve(costs, asked) {
  const setting = { ...DEFAULTS, ...asked }, need = demands(costs, setting);
  const rates = { clients: highest(need, setting, false) };
  if (setting.clients > slotsOf(setting)) rates.workers = highest(need, setting, true);
  if (need.serial) rates.parent = makersRate(need, setting.cores);
  let limit = Object.keys(rates).reduce((a, b) => rates[b] < rates[a] ? b : a);
  const rate = rates[limit];
  const busy = { server: rate * need.server / coresOf(setting),
    ...(setting.machines === 1 ? { shared: rate * (need.redis + need.load) }
        : { redis: rate * need.redis, load: rate * need.load / setting.machines }) };
  const fullest = Object.keys(busy).reduce((a, b) => busy[b] > busy[a] ? b : a);
  if (limit !== "parent" && busy[fullest] >= FULL) limit = fullest;
  return { rate, seconds: setting.clients / rate, limit };
}
