// The simulator: clients, a server and Redis as a sequence of events. Pure: it
// runs in node as well as in a page; view.js draws what it finds here.
//
// Read it next to the servers. The programs at the end (worker, parent and child,
// eventLoop) have the shape of the seven main.c. Each `yield` is a place where the
// real server calls the kernel and may have to wait.

const GRACE = 3, TICK = 0.05, DEADLINE = 10;    // seconds; serve_blocking.c
const ACCEPTS = 64;             // in one iteration of a loop; event_loop.c
const SLICE = 0.003;            // after which a core goes on with another thread
const FINE_SLICE = 5e-6;        // Redis and the load tool halve a core they share

// Numbers from 0 to 1; the same seed gives the same sequence (mulberry32).
const generator = seed => () => {
  seed = (seed + 0x6D2B79F5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

// First in, first out. An array's shift() would move all that follow.
class Fifo {
  constructor() { this.items = []; this.head = 0; }
  get length() { return this.items.length - this.head; }
  push(item) { this.items.push(item); }
  shift() {
    if (this.head > 1000 && this.head * 2 > this.items.length) {
      this.items.splice(0, this.head);
      this.head = 0;
    }
    return this.items[this.head++];
  }
  [Symbol.iterator]() { return this.items.slice(this.head).values(); }
}

// What will happen, the earliest first: a binary heap.
class Agenda {
  constructor() { this.now = 0; this.heap = []; this.count = 0; }

  static before(a, b) { return a.time < b.time || a.time === b.time && a.order < b.order; }

  after(delay, act) {
    const heap = this.heap, event = { time: this.now + delay, order: this.count++, act };
    let i = heap.length;
    for (let above; i > 0 && Agenda.before(event, heap[above = (i - 1) >> 1]); i = above)
      heap[i] = heap[above];
    heap[i] = event;
  }

  next() {
    const heap = this.heap, first = heap[0], last = heap.pop();
    for (let i = 0, below; heap.length; i = below) {
      heap[i] = last;
      below = 2 * i + 1;
      if (below + 1 < heap.length && Agenda.before(heap[below + 1], heap[below])) below++;
      if (below >= heap.length || !Agenda.before(heap[below], last)) break;
      heap[i] = heap[below];
    }
    this.now = first.time;
    first.act();
  }
}

// What has a state: one of the kinds of observe/states.py. Whoever wants to know the
// former ones, too, sets `past` to an array.
class Actor {
  constructor(world, name) {
    Object.assign(this, { world, name, state: "idle", since: 0, past: null });
  }

  show(state) {
    if (state === this.state) return;
    const now = this.world.agenda.now;
    if (this.past && now > this.since) this.past.push([this.since, now, this.state]);
    this.state = state;
    this.since = now;
  }
}

class Client extends Actor {
  constructor(world, number, manner) {
    super(world, "client " + number);
    Object.assign(this, { number, manner,
      place: "tool",    // or: queue, server, silent (connected, says nothing)
      open: false, pages: 0, came: 0, opened: 0, worker: null, step: 0 });
  }
}

// While a thread serves one client, that client waits for what the thread waits for.
class Thread extends Actor {
  constructor(world, name) {
    super(world, name);
    Object.assign(this, { client: null, program: null });
  }

  show(state) {
    super.show(state);
    if (this.client) this.client.show(state);
  }

  start(program) { this.program = program; this.advance(); }

  // Continue the program. What it yields is a function that gets `resume`.
  advance(value) {
    const step = this.program.next(value);
    if (!step.done) step.value(result => this.advance(result));
  }
}

// Some cores and one queue before them. A thread that has computed for a slice
// goes to the end of the queue.
class Cores {
  constructor(agenda, count, slice) {
    Object.assign(this, { agenda, slice, count, waiting: new Fifo(), busy: 0 });
    this.idle = Array.from({ length: count }, (_, i) => count - 1 - i);
  }

  // Let a thread compute for some seconds, then call done().
  use(thread, seconds, done) {
    thread.left = seconds;
    thread.done = done;
    if (this.idle.length) this.run(thread, this.idle.pop());
    else this.wait(thread);
  }

  wait(thread) {
    thread.show("cpu");
    this.waiting.push(thread);
  }

  run(thread, core) {
    const slice = Math.min(thread.left, this.slice);
    thread.show("run");
    this.agenda.after(slice, () => {
      const over = thread.left <= slice;
      this.busy += slice;
      thread.left -= slice;
      if (!over && !this.waiting.length) return this.run(thread, core);
      if (!over) this.wait(thread);
      if (this.waiting.length) this.run(this.waiting.shift(), core);
      else this.idle.push(core);
      if (over) thread.done();
    });
  }
}

// A program with one thread that takes one order at a time: Redis, the load tool.
class Serial extends Actor {
  constructor(world, name, cores) {
    super(world, name);
    Object.assign(this, { cores, orders: new Fifo(), busy: false });
  }

  ask(seconds, done) {
    this.orders.push({ seconds, done });
    if (!this.busy) this.take();
  }

  take() {
    this.busy = this.orders.length > 0;
    if (!this.busy) return this.show("idle");
    const { seconds, done } = this.orders.shift();
    this.cores.use(this, seconds, () => { this.take(); done(); });
  }
}

// A listening socket: connections wait for threads, or threads for connections.
class Listener {
  constructor() { this.waiting = new Fifo(); this.acceptors = new Fifo(); }
  push(client) { this.waiting.push(client); this.match(); }
  accept(resume) { this.acceptors.push(resume); this.match(); }
  match() {
    if (this.waiting.length && this.acceptors.length)
      this.acceptors.shift()(this.waiting.shift());
  }
}

class World {
  // setting: see DEFAULTS in model.js; also `silent` and `slow` (shares of the
  // clients, 0 to 1), `slowMs`, `seed`, and `vary`: false makes all CPU times
  // equal, where usually they are exponential.
  constructor(costs, asked) {
    const setting = { ...DEFAULTS, silent: 0, slow: 0, slowMs: 1000, seed: 1, vary: true,
                      ...asked };
    const kept = isKept(setting), agenda = new Agenda(), shared = setting.machines === 1;
    Object.assign(this, { setting, kept, agenda, random: generator(setting.seed),
      trips: TRIPS[setting.page] || 0,
      need: { fresh: demands(costs, without(setting)), kept: demands(costs, {
        ...setting, clients: Math.min(setting.clients, slotsOf(setting)) }) },
      cores: new Cores(agenda, coresOf(setting), SLICE),
      tokens: new Set(),        // commands on their way to Redis and back
      measure: { begin: 0, pages: 0, seconds: 0, area: 0, inside: 0, changed: 0, busy: {} } });
    this.tools = Array.from({ length: setting.machines }, (_, i) => new Serial(
      this, "load tool " + (i + 1), new Cores(agenda, 1, shared ? FINE_SLICE : SLICE)));
    this.redis = new Serial(this, "Redis",
                            shared ? this.tools[0].cores : new Cores(agenda, 1, SLICE));
    this.makeServer();
    this.clients = Array.from({ length: setting.clients },
                              (_, i) => new Client(this, i + 1, this.manner(i)));
    for (const client of this.clients) this.think(client);
  }

  // Silent and slow clients are spread evenly over the numbers.
  manner(i) {
    const { silent, slow } = this.setting;
    const among = share => Math.floor((i + 1) * share) > Math.floor(i * share);
    return among(silent) ? "silent" : among(Math.min(1, slow)) ? "slow" : "normal";
  }

  draw(mean) { return this.setting.vary ? -mean * Math.log(1 - this.random()) : mean; }

  needOf(client) { return this.kept && client.pages ? this.need.kept : this.need.fresh; }

  // ------------------------------------------------------------- the clients

  // A client at the load tool, which prepares its next request.
  think(client) {
    client.place = "tool";
    client.show("idle");
    if (client.manner === "silent") return this.connect(client);
    const need = client.open ? this.need.kept : this.need.fresh;
    this.tools[client.number % this.tools.length].ask(this.draw(need.load), () => {
      client.came = this.agenda.now;
      this.count(1);
      if (!client.open) return this.connect(client);
      client.place = "server";
      if (this.loops.length) this.ready(client, 0);
      else client.waits(true);
    });
  }

  connect(client) {
    Object.assign(client, { opened: this.agenda.now, pages: 0, place: "queue" });
    client.show("queue");
    if (!this.loops.length) return this.listeners[0].push(client);
    // The kernel accepts a client of a loop when its request has arrived
    // (TCP_DEFER_ACCEPT), and spreads clients over the loops.
    if (client.manner === "silent") {
      client.place = "silent";
      return client.show("idle");
    }
    client.worker = this.loops[Math.floor(this.random() * this.loops.length)];
    client.worker.listener.push(client);
    this.wake(client.worker);
  }

  answered(client) {
    this.measure.pages++;
    this.measure.seconds += this.agenda.now - client.came;
    this.count(-1);
    client.pages++;
  }

  close(client) { Object.assign(client, { open: false, worker: null }); }

  // ------------------------------------------------- what a thread can yield

  run(thread, mean) {
    const seconds = this.draw(mean);
    return resume => this.cores.use(thread, seconds, resume);
  }

  accept(thread) {
    return resume => {
      thread.show("idle");
      this.listeners[0].accept(client => {
        thread.client = client;
        Object.assign(client, { place: "server", open: true, worker: thread });
        resume(client);
      });
    };
  }

  // Send a command to Redis: half of the delay, Redis' CPU, the other half.
  command(client, need, replied) {
    const agenda = this.agenda, half = need.delay / this.trips / 2;
    const token = { client, half, begin: agenda.now, at: "out" };
    this.tokens.add(token);
    agenda.after(half, () => {
      token.at = "redis";
      this.redis.ask(this.draw(need.redis / this.trips), () => {
        Object.assign(token, { at: "back", begin: agenda.now });
        agenda.after(half, () => {
          this.tokens.delete(token);
          replied();
        });
      });
    });
  }

  // ------------------------------------------------- serve_blocking.c: 01 to 05

  // Does a client wait that no other worker will accept soon?
  othersWait() {
    const { waiting, acceptors } = this.listeners[0];
    return this.most ? waiting.length > 0 && this.running >= this.most
                     : waiting.length > acceptors.length;
  }

  *serve(thread, client) {
    if (client.manner === "silent") yield this.untilGrace(thread, client);
    else do yield* this.page(thread, client);
    while (this.kept && !this.othersWait() && (yield this.untilRequest(thread, client)));
    this.close(client);
    thread.client = null;
    if (client.place !== "tool") this.think(client);
  }

  *page(thread, client) {
    const need = this.needOf(client), part = (need.server - need.serial) / (this.trips + 1);
    for (let trip = 0; trip < this.trips; trip++) {
      yield this.run(thread, part);
      thread.show("redis");
      yield resume => this.command(client, need, resume);
    }
    yield this.run(thread, part);
    if (client.manner === "slow") {
      thread.show("client");
      yield resume => this.agenda.after(this.setting.slowMs / 1000, resume);
    }
    this.answered(client);
  }

  // recv() on a connection without a request: every 50 ms it looks whether others
  // wait, as RECV_TIMEOUT_MS does. Resumes with whether a request came.
  untilRequest(thread, client) {
    return resume => {
      let waited = false;
      const over = came => { client.waits = null; resume(came); };
      const look = () => {
        if (client.waits !== over) return;
        if (this.othersWait() && waited) return over(false);
        waited = this.othersWait();
        this.agenda.after(TICK, look);
      };
      client.waits = over;
      thread.show("client");
      this.think(client);
      this.agenda.after(TICK, look);
    };
  }

  untilGrace(thread, client) {
    return resume => {
      const agenda = this.agenda, end = agenda.now + DEADLINE;
      const look = () => {
        if (agenda.now >= end || this.othersWait() && agenda.now - client.opened >= GRACE)
          resume();
        else agenda.after(TICK, look);
      };
      thread.show("client");
      agenda.after(1e-6, look);     // so that time passes: it comes back immediately
    };
  }

  // -------------------------------------------------------- the seven main.c

  makeServer() {
    const { server, workers, cores } = this.setting, own = WORKERS[server];
    Object.assign(this, { loops: [], threads: [], spare: [], running: 0,
                          most: MAKERS.includes(server) ? workers || own : 0 });
    const add = (many, name, program) => {
      for (let i = 1; i <= many; i++) {
        const thread = this.addThread(many > 1 || own > 1 ? `${name} ${i}` : name);
        if (own === Infinity) this.loops.push(Object.assign(thread, {
          listener: new Listener(), events: [], commands: [], owed: 0, held: 0 }));
        thread.start(program.call(this, thread));
      }
    };
    this.listeners = [new Listener()];
    if (this.most) this.addThread("parent").start(this.parent(this.threads[0]));
    else if (own === Infinity) add(server === "poll" ? 1 : cores, "loop", this.eventLoop);
    else add(slotsOf(this.setting), "worker", this.worker);
    if (this.loops.length) this.listeners = this.loops.map(loop => loop.listener);
  }

  addThread(name) {
    this.threads.push(new Thread(this, name));
    return this.threads.at(-1);
  }

  // 01, and each worker of 03 and 05.
  *worker(thread) {
    for (;;) yield* this.serve(thread, yield this.accept(thread));
  }

  // 02 and 04: make a worker for each client, at most so many.
  *parent(thread) {
    for (;;) {
      const client = yield this.accept(thread);
      this.running++;
      yield this.run(thread, this.need.fresh.serial);
      thread.client = null;
      const child = this.spare.pop() || this.addThread("child " + this.threads.length);
      Object.assign(child, { client, ended: false });
      client.worker = child;
      child.start(this.child(child, client));
      if (this.running >= this.most)
        yield resume => { thread.show("idle"); this.childEnded = resume; };
    }
  }

  *child(thread, client) {
    yield* this.serve(thread, client);
    thread.ended = true;
    thread.show("idle");
    this.spare.push(thread);    // its row in the picture is free again
    this.running--;
    if (this.childEnded) this.agenda.after(0, this.childEnded);
    this.childEnded = null;
  }

  // 06 and 07: wait for events of all clients, then serve all that are ready.
  *eventLoop(loop) {
    for (;;) {
      const { waiting } = loop.listener;
      if (!loop.events.length && !waiting.length)
        yield resume => {
          loop.show(loop.owed ? "redis" : loop.held ? "client" : "idle");
          loop.resume = resume;
        };
      const batch = loop.events, accepts = Math.min(ACCEPTS, waiting.length);
      loop.events = [];
      if (this.need.kept.scan)
        yield this.run(loop, this.need.kept.scan * this.watched());
      for (const client of batch) yield* this.step(loop, client);
      for (let i = 0; i < accepts; i++) {
        const client = waiting.shift();
        Object.assign(client, { place: "server", open: true, step: 0 });
        loop.held++;
        yield* this.step(loop, client);
      }
      // One write for all: redis_async_flush() ends the iteration.
      for (const [client, need] of loop.commands.splice(0)) {
        client.show("redis");
        this.command(client, need, () => {
          loop.owed--;
          this.ready(client, client.step + 1);
        });
      }
    }
  }

  // Descriptors that poll() is given: clients from which bytes may come.
  watched() { return this.kept ? this.clients.length : this.tools[0].orders.length; }

  // Serve a client until its next step would have to wait.
  *step(loop, client) {
    const need = this.needOf(client);
    if (client.step <= this.trips) {
      loop.client = client;
      yield this.run(loop, need.server / (this.trips + 1));
      loop.client = null;
    }
    if (client.step < this.trips) {
      loop.owed++;
      loop.commands.push([client, need]);
    } else if (client.manner === "slow" && client.step === this.trips) {
      client.show("client");
      this.agenda.after(this.setting.slowMs / 1000, () => this.ready(client, client.step + 1));
    } else {
      this.answered(client);
      if (!this.kept) {
        loop.held--;
        this.close(client);
      }
      this.think(client);
    }
  }

  ready(client, step) {
    client.step = step;
    client.show("cpu");                 // until the loop comes to it
    client.worker.events.push(client);
    this.wake(client.worker);
  }

  wake(loop) {
    if (loop.resume) this.agenda.after(0, loop.resume);     // more may become ready now
    loop.resume = null;
  }

  // ------------------------------------------------------------- the measuring

  // How many clients wait for a page, integrated over time: for Little's law.
  count(change) {
    const m = this.measure, now = this.agenda.now;
    m.area += m.inside * (now - m.changed);
    m.changed = now;
    m.inside += change;
  }

  busySeconds() {
    return { server: this.cores.busy / this.cores.count, redis: this.redis.cores.busy,
             load: this.tools.reduce((sum, { cores }) => sum + cores.busy, 0) /
                   this.tools.length };
  }

  mark() {
    this.count(0);
    Object.assign(this.measure, { begin: this.agenda.now, pages: 0, seconds: 0, area: 0,
                                  busy: this.busySeconds() });
  }

  // Since mark(): pages a second, mean seconds a page from the connection or
  // request to the answer, mean number of clients in between, shares of cores.
  result() {
    this.count(0);
    const m = this.measure, time = this.agenda.now - m.begin || Infinity;
    const busy = this.busySeconds();
    for (const name in busy) busy[name] = (busy[name] - (m.busy[name] || 0)) / time;
    return { rate: m.pages / time, seconds: m.seconds / (m.pages || 1),
             inside: m.area / time, pages: m.pages, time, busy };
  }

  // Let events happen until a time (seconds), or until so many have.
  advance(until, most = Infinity) {
    const agenda = this.agenda;
    for (; most > 0 && agenda.heap.length && agenda.heap[0].time <= until; most--)
      agenda.next();
    if (most > 0 && until < Infinity) agenda.now = until;
  }
}

// Measures one setting piece by piece, so that a page stays responsive: call
// work() until it returns the result. The first pages warm the server up.
class Measurement {
  constructor(costs, setting, pages = 4000, seconds = 60) {
    Object.assign(this, { world: new World(costs, setting), pages, seconds, warmed: false,
                          warm: Math.min(pages, 3 * setting.clients + pages / 10) });
  }

  work(events) {
    const { world } = this, m = world.measure;
    for (let left = events; left > 0; left -= 500) {
      const end = m.begin + this.seconds;
      world.advance(end, 500);
      const over = world.agenda.now >= end;
      if (this.warmed && (over || m.pages >= this.pages)) return world.result();
      if (this.warmed || !over && m.pages < this.warm) continue;
      this.warmed = true;
      world.mark();
    }
    return null;
  }
}

function simulate(costs, setting, pages, seconds) {
  for (const one = new Measurement(costs, setting, pages, seconds);;) {
    const result = one.work(100000);
    if (result) return result;
  }
}
