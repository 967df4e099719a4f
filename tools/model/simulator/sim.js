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

// Numbers from 0 to 1; the same seed gives the same sequence (Park and Miller).
const generator = seed => () => (seed = seed * 48271 % 2147483647) / 2147483647;

// What will happen, the latest first: most of what is added belongs near the end.
class Agenda {
  now = 0; events = [];

  after(delay, act) {
    const { events } = this, time = this.now + delay;
    let i = events.length;
    while (i > 0 && events[i - 1].time <= time) i--;
    events.splice(i, 0, { time, act });
  }
}

// What has a state: one of the kinds of tools/kit/states.py. If `past` is an array, it
// gets the former ones.
class Actor {
  state = "idle"; since = 0; past = null;

  constructor(world, name) { Object.assign(this, { world, name }); }

  show(state) {
    if (state === this.state) return;
    const { now } = this.world.agenda;
    if (this.past && now > this.since) this.past.push([this.since, now, this.state]);
    this.state = state;
    this.since = now;
  }
}

class Client extends Actor {
  place = "tool";       // or: queue, server
  open = false;
  worker = null;
  pages = 0; step = 0;  // on this connection; of this page, in a loop
  came = 0; opened = 0; // when: the request, the connection
}

// While a thread serves one client, that client waits for what the thread waits for.
class Thread extends Actor {
  client = null;

  show(state) {
    super.show(state);
    if (this.client) this.client.show(state);
  }

  // Run a program to its next `yield`, which gives a function that gets `resume`.
  start(program, value) {
    const step = program.next(value);
    if (!step.done) step.value(result => this.start(program, result));
  }
}

// Some cores, and the threads that wait for one: the one that has computed least comes
// first, as in Linux. One that has slept counts as if it had computed until a slice ago.
class Cores {
  constructor(agenda, count, slice) {
    Object.assign(this, { agenda, slice, count, waiting: [], busy: 0, least: 0 });
    this.idle = Array.from({ length: count }, (_, i) => count - 1 - i);
  }

  // Let a thread compute for some seconds, then call done().
  use(thread, seconds, done) {
    thread.left = seconds;
    thread.done = done;
    thread.used = Math.max(thread.used || 0, this.least - this.slice);
    if (this.idle.length) this.run(thread, this.idle.pop());
    else this.wait(thread);
  }

  wait(thread) {
    thread.show("cpu");
    let i = this.waiting.length;
    while (i > 0 && this.waiting[i - 1].used > thread.used) i--;
    this.waiting.splice(i, 0, thread);
  }

  run(thread, core) {
    const slice = Math.min(thread.left, this.slice);
    thread.show("run");
    this.least = Math.max(this.least, thread.used);
    this.agenda.after(slice, () => {
      const over = thread.left <= slice;
      this.busy += slice;
      thread.left -= slice;
      thread.used += slice;
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
  orders = []; busy = false;

  constructor(world, name, cores) { super(world, name); this.cores = cores; }

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

class World {
  // setting: see DEFAULTS in model.js; also `silent` and `slow` (shares of the
  // clients, 0 to 1), `slowMs`, `seed`, and `vary`: false makes all CPU times
  // equal, where usually they are exponential.
  constructor(costs, asked) {
    const setting = { silent: 0, slow: 0, slowMs: 1000, seed: 1, vary: true,
                      ...DEFAULTS, ...asked };
    const agenda = new Agenda(), shared = setting.machines === 1;
    const few = Math.min(setting.clients, slotsOf(setting)), asks = { ...setting, computing: 0 };
    Object.assign(this, { setting, agenda, kept: isKept(setting),
      random: generator(setting.seed), trips: TRIPS[setting.page] || 0,
      need: { fresh: demands(costs, { ...asks, page: fresh(setting.page) }),
              kept: demands(costs, { ...asks, clients: few }) },
      cores: new Cores(agenda, coresOf(setting), SLICE),
      tokens: new Set() });     // commands on their way to Redis and back
    this.tools = Array.from({ length: setting.machines }, (_, i) => new Serial(
      this, "load tool " + (i + 1), new Cores(agenda, 1, shared ? FINE_SLICE : SLICE)));
    this.redis = new Serial(this, "Redis",
                            shared ? this.tools[0].cores : new Cores(agenda, 1, SLICE));
    this.mark();
    this.makeServer();
    this.clients = Array.from({ length: setting.clients }, (_, i) => Object.assign(
      new Client(this, "client " + (i + 1)), { number: i + 1, manner: this.manner(i) }));
    for (const client of this.clients) this.think(client);
  }

  // Silent and slow clients are spread evenly over the numbers.
  manner(i) {
    const among = share => Math.floor((i + 1) * share) > Math.floor(i * share);
    return among(this.setting.silent) ? "silent" : among(this.setting.slow) ? "slow" : "normal";
  }

  draw(mean) { return this.setting.vary ? -mean * Math.log(1 - this.random()) : mean; }

  needOf(client) { return this.kept && client.pages ? this.need.kept : this.need.fresh; }

  // ------------------------------------------------------------- the clients

  // A client at the load tool, which prepares its next request.
  think(client) {
    const { setting } = this;
    client.place = "tool";
    client.show("idle");
    if (client.manner === "silent") return this.connect(client);
    const tool = this.tools[client.number % this.tools.length];
    tool.ask(this.draw(this.needOf(client).load), () => {
      client.came = this.agenda.now;
      client.computes = setting.computing > 0 && this.random() < setting.computing;
      if (!client.open) return this.connect(client);
      client.place = "server";
      if (this.loops.length) this.ready(client, 0);
      else client.received(true);
    });
  }

  // The kernel spreads clients over the loops. A loop accepts a client and reads
  // its request in two iterations, here in one. A silent client takes a place in
  // its set, and nothing from others: it is left out.
  connect(client) {
    if (this.loops.length && client.manner === "silent") return;
    Object.assign(client, { opened: this.agenda.now, place: "queue" });
    client.show("queue");
    if (!this.loops.length) {
      this.queues[0].push(client);
      return this.match();
    }
    client.worker = this.loops[Math.floor(this.random() * this.loops.length)];
    client.worker.queue.push(client);
    this.wake(client.worker);
  }

  answered(client) {
    this.measure.pages++;
    this.measure.seconds += this.agenda.now - client.came;
    if (this.setting.computing && !client.computes)
      this.measure.short.push(this.agenda.now - client.came);
    client.pages++;
  }

  close(client) { Object.assign(client, { open: false, worker: null, pages: 0 }); }

  // ------------------------------------------------- what a thread can yield

  run(thread, mean) { return resume => this.cores.use(thread, this.draw(mean), resume); }

  // A page that computes gives its core to others after a slice, as any thread does.
  compute(thread) { return resume => this.cores.use(thread, this.setting.computeMs / 1e3, resume); }

  accept(thread) {
    return resume => {
      thread.show("idle");
      this.acceptors.push({ thread, resume });
      this.match();
    };
  }

  // Connections wait for threads, or threads for connections.
  match() {
    const [queue] = this.queues;
    if (!queue.length || !this.acceptors.length) return;
    const client = queue.shift(), { thread, resume } = this.acceptors.shift();
    thread.client = client;
    Object.assign(client, { place: "server", open: true, worker: thread });
    resume(client);
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
    const waiting = this.queues[0].length;
    return this.most ? waiting > 0 && this.running >= this.most
                     : waiting > this.acceptors.length;
  }

  *serve(thread, client) {
    const { agenda } = this, end = agenda.now + DEADLINE;
    let waited = false;
    const over = () =>
      agenda.now >= end || this.othersWait() && agenda.now - client.opened >= GRACE;
    const twice = () => {       // others waited at two looks
      const before = waited;
      return (waited = this.othersWait()) && before;
    };
    if (client.manner === "silent") yield this.receive(thread, client, over);
    else do yield* this.page(thread, client);
    while (this.kept && !this.othersWait() && (yield this.receive(thread, client, twice)));
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
    if (client.computes) yield this.compute(thread);
    if (client.manner === "slow") {
      thread.show("client");
      yield resume => this.agenda.after(this.setting.slowMs / 1000, resume);
    }
    this.answered(client);
  }

  // recv() with RECV_TIMEOUT_MS: after each, look whether to give the client up, and
  // immediately if its grace may have ended in the accept queue. Resumes with whether
  // a request came.
  receive(thread, client, givesUp) {
    return resume => {
      const over = came => { client.received = null; resume(came); };
      const look = () => {
        if (client.received !== over) return;
        if (givesUp()) over(false);
        else this.agenda.after(TICK, look);
      };
      const silent = client.manner === "silent";
      client.received = over;
      thread.show("client");
      if (!silent) this.think(client);
      this.agenda.after(silent ? 1e-6 : TICK, look);
    };
  }

  // -------------------------------------------------------- the seven main.c

  makeServer() {
    const { setting } = this, own = WORKERS[setting.server], isLoop = own === Infinity;
    const many = isLoop ? coresOf(setting) : slotsOf(setting);
    Object.assign(this, { queues: [[]], acceptors: [], loops: [], threads: [], running: 0,
      most: MAKERS.includes(setting.server) ? many : 0 });
    if (this.most) return this.addThread("parent").start(this.parent(this.threads[0]));
    for (let i = 1; i <= many; i++) {
      const thread = this.addThread((isLoop ? "loop" : "worker") + (many > 1 ? " " + i : ""));
      if (isLoop) this.loops.push(Object.assign(thread, {
        queue: [], events: [], commands: [], owed: 0, held: 0 }));
      thread.start(isLoop ? this.eventLoop(thread) : this.worker(thread));
    }
    if (isLoop) this.queues = this.loops.map(loop => loop.queue);
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
      const child = this.threads.find(one => one.ended) ||
                    this.addThread("child " + this.threads.length);
      Object.assign(child, { client, ended: false });
      client.worker = child;
      child.start(this.child(child, client));
      if (this.running >= this.most)
        yield resume => { thread.show("idle"); this.childEnded = resume; };
    }
  }

  *child(thread, client) {
    yield* this.serve(thread, client);
    thread.ended = true;        // its row in the picture is free again
    thread.show("idle");
    this.running--;
    if (this.childEnded) this.agenda.after(0, this.childEnded);
    this.childEnded = null;
  }

  // 06 and 07: wait for events of all clients, then serve all that are ready.
  *eventLoop(loop) {
    for (;;) {
      if (!loop.events.length && !loop.queue.length)
        yield resume => {
          loop.show(loop.owed ? "redis" : loop.held ? "client" : "idle");
          loop.resume = resume;
        };
      const accepted = loop.queue.splice(0, ACCEPTS);
      for (const client of accepted)
        Object.assign(client, { place: "server", open: true, step: 0 });
      loop.held += accepted.length;
      const batch = [...loop.events.splice(0), ...accepted];
      if (this.need.kept.scan)
        yield this.run(loop, this.need.kept.scan * this.watched());
      for (const client of batch) yield* this.step(loop, client);
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
      if (client.computes && client.step === this.trips) yield this.compute(loop);
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

  mark() {
    this.measure = { begin: this.agenda.now, pages: 0, seconds: 0, short: [],
                     busy: this.cores.busy };
  }

  // Since mark(): pages a second, mean seconds a page from the connection or request
  // to the answer, the seconds within which 99 % of the pages that do not compute
  // came (0 where none computes), how busy the server's cores were (0 to 1).
  result() {
    const { begin, pages, seconds, busy, short } = this.measure, { cores } = this;
    const time = this.agenda.now - begin || Infinity;
    const late = short.sort((a, b) => a - b)[Math.ceil(.99 * short.length) - 1] || 0;
    return { rate: pages / time, seconds: seconds / (pages || 1), pages, time, late,
             busy: (cores.busy - busy) / cores.count / time };
  }

  // Let events happen until a time (seconds), or until so many have.
  advance(until, most = Infinity) {
    const { agenda } = this, { events } = agenda;
    for (; most > 0 && events.length && events.at(-1).time <= until; most--) {
      const { time, act } = events.pop();
      agenda.now = time;
      act();
    }
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
    for (const { world } = this; events > 0; events -= 500) {
      const end = world.measure.begin + this.seconds;
      world.advance(end, 500);
      const most = this.warmed ? this.pages : this.warm;
      if (world.measure.pages < most && world.agenda.now < end) continue;
      if (this.warmed) return world.result();
      this.warmed = true;
      world.mark();
    }
    return null;
  }
}
