"""The engine of the simulator, in node."""

import functools
import json
import shutil
import subprocess

import pytest

from tools.model import model
from tools.model.simulator import page

COSTS = model.load()
# One server of each kind; make check-all asks about all seven.
KINDS = [pytest.param(name, marks=() if name in ("iterative", "forking", "prethreaded", "epoll")
                      else pytest.mark.slow) for name in model.WORKERS]
pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="needs node")


@functools.cache
def run(script, costs):
    """Run a script behind the engine in node; return what its last expression is. `costs`: JSON,
    which it has at hand."""
    done = subprocess.run(
        ["node"], input=f"{page.engine()}\nconst costs = {costs};\n"
        f"console.log(JSON.stringify({script}))",
        capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SIMULATE = """settings.map(([setting, pages, seconds]) => {
  const one = new Measurement(costs, setting, pages, seconds);
  for (;;) {
    const result = one.work(100000);
    if (result) return result;
  }
})"""


def simulate_all(settings, costs=COSTS, pages=20000, seconds=600):
    """Return the results of simulations, each as a dict: rate (pages a second), seconds, pages,
    time, busy."""
    given = json.dumps([(setting, pages, seconds) for setting in settings])
    return run(SIMULATE.replace("settings", given, 1), json.dumps(costs))


def simulate(pages=20000, seconds=600, **setting):
    """Return the result of one simulation."""
    return simulate_all([setting], COSTS, pages, seconds)[0]


# ------------------------------------------------------------------- the model

SETTINGS = [{"clients": 5}, {"clients": 100}, {"clients": 1000},
            {"clients": 200, "redisMs": 5, "workers": 16},
            {"clients": 50, "cores": 2},
            {"clients": 100, "cores": 2, "machines": 8, "page": "answer"},
            {"clients": 100, "computing": 0.2},
            {"clients": 90, "page": "answer kept"}]


@pytest.mark.parametrize("server", KINDS)
def test_the_steady_state_agrees_with_the_model(server):
    """And the model in JavaScript is that in Python, which is compared with closed forms."""
    settings = [{"server": server, **setting} for setting in SETTINGS]
    found = simulate_all(settings, pages=8000)
    again = run(f"{json.dumps(settings)}.map(one => solve(costs, one).rate)", json.dumps(COSTS))
    for setting, simulated, solved in zip(SETTINGS, found, again):
        predicted = model.solve(COSTS, model.Setting(server, **{
            "redis_ms" if key == "redisMs" else key: value for key, value in setting.items()})).rate
        assert simulated["rate"] == pytest.approx(predicted, rel=0.10), setting
        assert solved == pytest.approx(predicted, rel=1e-6), setting


def test_the_machine_repairman():
    """M/M/1//N: N clients think for an exponential time, each at a machine of its own, and one core
    serves them. The probability that the core is idle is 1 / sum(N!/(N-k)! (s/z)^k)."""
    service, think, numbers = 100, 400, (1, 2, 5, 20)
    cost = {"answer": {"server_us": service, "redis_us": 0, "load_us": think}}
    nothing = dict.fromkeys(("core_ns", "miss_ns", "wake_us", "scan_us"), 0)
    found = simulate_all([
        {"server": "epoll", "page": "answer", "clients": clients, "machines": clients + 1}
        for clients in numbers],
        {**COSTS, "machine": {**COSTS["machine"], **nothing},
         "servers": {"epoll": cost, "iterative": cost}}, pages=60000)
    for clients, one in zip(numbers, found):
        terms, total = 1.0, 1.0
        for k in range(clients):
            terms *= (clients - k) * service / think
            total += terms
        assert one["rate"] == pytest.approx((1 - 1 / total) / (service * 1e-6), rel=0.02), clients
        assert one["busy"] == pytest.approx(1 - 1 / total, rel=0.02), clients


@pytest.mark.parametrize("server", KINDS)
def test_littles_law_and_no_client_is_lost(server):
    """Clients in the system = rate * time there; and all are somewhere. A loop serves as many in
    three seconds as others in a minute."""
    setting = {"server": server, "clients": 60, "workers": 8, "redisMs": 1,
               "silent": 0.05, "slow": 0.05, "slowMs": 20}
    looks = 3000 if server in ("poll", "epoll") else 60000
    found = run(f"""(() => {{
      const world = new World(costs, {json.dumps(setting)});
      world.advance(8);
      world.mark();
      let inside = 0;
      for (let ms = 1; ms <= {looks}; ms++) {{
        world.advance(8 + ms / 1000);
        for (const c of world.clients)
          inside += (c.place === "queue" || c.place === "server") && c.manner !== "silent";
      }}
      inside /= {looks};
      const places = {{}}, result = world.result();
      for (const c of world.clients)
        places[c.place] = (places[c.place] || 0) + 1;
      const queued = world.queues.flat().length;
      return {{...result, places, queued, inside}};
    }})()""", json.dumps(COSTS))
    assert sum(found["places"].values()) == 60
    assert found["places"].get("queue", 0) == found["queued"]
    assert found["pages"] > 10
    # Only normal and slow clients ask for pages. Those that are under way at the ends of the
    # interval count on one side only: one in a hundred here.
    assert found["inside"] == pytest.approx(found["rate"] * found["seconds"], rel=0.02, abs=0.5)


# ----------------------------------------------- silent, slow and kept clients

def test_a_silent_client_holds_01_for_the_grace():
    """Ten clients, one silent: nine pages, then three seconds of silence."""
    found = simulate(server="iterative", clients=10, silent=0.1, seconds=120)
    assert found["rate"] == pytest.approx(9 / 3, rel=0.1)


def test_silent_clients_cost_a_loop_nothing():
    alone, found = simulate_all([{"server": "epoll", "clients": 10},
                                 {"server": "epoll", "clients": 20, "silent": 0.5}])
    assert found["rate"] == pytest.approx(alone["rate"], rel=0.03)


def test_as_many_silent_clients_as_workers_stop_a_pool():
    few, stopped = simulate_all([{"server": "prethreaded", "workers": workers, "clients": 40,
                                  "silent": 0.1} for workers in (5, 4)], seconds=60)
    assert stopped["rate"] < few["rate"] / 20


def test_slow_readers_hold_workers_but_not_a_loop():
    pool = simulate(server="prethreaded", workers=4, clients=20, slow=0.5, seconds=30)
    loop = simulate(server="epoll", clients=20, slow=0.5, pages=5000)
    assert pool["rate"] < 50 and loop["rate"] > 5000


# ------------------------------------------------------------ pages that compute

COMPUTING = {"clients": 10, "computing": 0.02, "page": "answer"}


@pytest.mark.parametrize("server", KINDS)
def test_a_page_that_computes_holds_a_loop_and_01_but_no_pool(server):
    """20 ms in the designs with one thread, a slice of 3 ms in pools, as in the study `mixed`.
    In 02 and 04 the thread that makes workers shares the core with those that compute. These
    clients come back immediately, so it is busier here than in that study."""
    late = simulate(server=server, **COMPUTING)["late"]
    if server in ("iterative", "poll", "epoll"):
        assert late > 0.019
    elif server in ("preforking", "prethreaded"):
        assert 0.0005 < late < 0.006
    else:
        assert late < 0.8 * simulate(server="epoll", **COMPUTING)["late"]


def test_a_pool_whose_workers_all_compute_holds_the_others():
    many, few = simulate_all([{"server": "prethreaded", "workers": workers, **COMPUTING,
                               "computing": 0.2} for workers in (100, 1)])
    assert few["late"] > 2 * many["late"]
