"""Records one burst of a program, as timeline.run does for the seven."""

import threading

from tools.kit import process, wait
from tools.observe import clients
from tools.observe.real import exchanges, programs
from tools.observe.real.backend import Backend
from tools.observe.timeline import run
from tools.observe.watch.plain import spoken
from tools.observe.watch.sampler import Sampler

COMMANDS = 3        # a guestbook page of the seven waits for as many replies
LOOK = 2.0          # seconds that an answer takes while watch looks: it reads the tables seldom


def record(program, count, delay):
    """Return (Timeline, line) of `count` clients that ask a Program: the line is what watch says
    of it while they wait. `delay`: seconds; the application behind it, or the query, takes
    COMMANDS times as long. Raises lab.LabError."""
    seconds = COMMANDS * delay
    wanted = exchanges.of(program.ask, seconds)
    with Backend(seconds) as backend:
        def start(before=()):
            return programs.started(program, backend.port, wanted, before)

        def burst(address, on_connect=lambda port: None):
            return clients.burst(address, count, wanted, on_connect)
        with start() as server:
            backend.delay = LOOK        # this one also warms it up: a language compiles
            line = watched(server, program, backend.port, count) if program.waits else ""
            backend.delay = seconds
            plain = run.length(burst(server.address))
        trace = run.traced(start, burst, {backend.port}, frozenset(program.habits))
        return run.assemble(program.title, trace, plain, peer="the application",
                            lesson=program.model), line


def watched(server, program, backend, count):
    """Return what watch says of a program while `count` clients wait for slow answers."""
    wanted = exchanges.of(program.ask, LOOK)
    with Sampler(server.pid, program.title, [backend]) as sampler:
        asked = threading.Thread(target=clients.burst, args=(server.address, count, wanted))
        process.start(asked)
        wait.until(lambda: not asked.is_alive() or len(sampler.frame().clients) == count, LOOK)
        asked.join(LOOK / 4)        # the tables' news reaches the rows with the next samples
        said = spoken(sampler.frame().rows)
        asked.join()
    return said.replace("Redis", "the application")
