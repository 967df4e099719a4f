"""What the balancers do with a request that fails, and while all are busy.

The instances only pretend, so each failure happens when the test wants it.
"""

import contextlib
import http.client
import os
import re
import threading

import jinja2.meta
import pytest

from tools.fleet.balancer.balancers import BALANCERS, FOLDER
from tools.kit import process
from tests.support.client import Connection, build
from tests.balancer.pretender import ANSWER, Pretender
from tests.support.processes import wait_for

TRIES = 4


@pytest.fixture
def balance(name, folder, free_port):
    """balance([instances], template) starts the balancer before them, and
    returns it."""
    started = []

    def start(instances, template=None, **more):
        settings = {"balancer_port": free_port(), "instances": instances,
                    "balancer_folder": folder, "balancer_log": "stderr",
                    **more}
        if os.getuid() == 0:
            settings["balancer_user"] = "root"
        started.append(BALANCERS[name](folder, settings, template))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        if one.process:
            process.stop(one.process)


@pytest.fixture
def pretend():
    """pretend("s1", act) starts an instance that only pretends."""
    with contextlib.ExitStack() as stack:
        def start(*words):
            one = Pretender(*words)
            stack.callback(one.close)
            return one
        yield start


def ask(balancer, method="GET"):
    """Send a request through it. Return the status, None if the connection is closed
    instead, and "begun" if that happens within the answer. A reset is an error."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", balancer.settings["balancer_port"], timeout=60)
    with contextlib.closing(connection):
        connection.request(method, "/guestbook",
                           body="a=b" if method == "POST" else None)
        try:
            response = connection.getresponse()
            response.read()
            return response.status
        except http.client.IncompleteRead:
            return "begun"
        except http.client.RemoteDisconnected:
            return None


# ----------------------------------------------------- an instance that fails

def drop():
    """Close the connection without an answer."""
    return b""


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_request_that_only_reads_goes_to_another_instance(
        balance, pretend, method):
    broken, good = pretend("s1", drop), pretend("s2")
    balancer = balance([broken, good])
    assert [ask(balancer, method) for _ in range(TRIES)] == TRIES * [200]
    assert broken.seen and len(good.seen) == TRIES


def test_a_request_that_writes_reaches_one_instance_only(balance, pretend):
    """The client learns that it failed; what the instance has done with it
    before is not known."""
    broken, good = pretend("s1", drop), pretend("s2")
    balancer = balance([broken, good])
    told = [ask(balancer, "POST") for _ in range(TRIES)]
    assert broken.seen and len(broken.seen + good.seen) == TRIES
    assert told.count(200) == len(good.seen)


def test_a_request_that_writes_finds_an_instance_that_is_there(
        balance, pretend):
    """Nothing has been sent to the one that cannot be reached."""
    gone, good = Pretender("s1"), pretend("s2")
    gone.close()
    balancer = balance([gone, good])
    assert [ask(balancer, "POST") for _ in range(TRIES)] == TRIES * [200]


def test_an_answer_that_has_begun_is_not_asked_for_again(balance, pretend):
    """The client has seen a part of it: it must see the cut, too."""
    broken, good = pretend("s1", lambda: ANSWER[:-1]), pretend("s2")
    balancer = balance([broken, good])
    told = [ask(balancer) for _ in range(TRIES)]
    assert len(broken.seen + good.seen) == TRIES
    assert told.count("begun") == len(broken.seen) > 0


# ------------------------------------------------------------------- clients

def test_a_slow_client_holds_the_balancer_and_no_instance(balance, pretend):
    """An instance sees a request when all of it is here."""
    instance = pretend("s1")
    balancer = balance([instance])
    address = ("127.0.0.1", balancer.settings["balancer_port"])
    with Connection(address) as silent, Connection(address) as slow:
        slow.send(build("/guestbook", "POST", body=b"a=b")[:-1])
        assert ask(balancer) == 200
        assert instance.seen == ["GET"]
        slow.send(b"b")
        assert slow.receive()
        assert instance.seen == ["GET", "POST"]
        assert not silent.readable()


def test_the_instance_can_know_the_client(balance, pretend):
    instance = pretend("s1")
    assert ask(balance([instance])) == 200
    assert instance.clients == ["127.0.0.1"]


# ---------------------------------------------------------------------- queue

@pytest.mark.parametrize("name", ["haproxy"], indirect=True)
def test_requests_wait_in_the_balancer(balance, pretend):
    """Each instance gets as many as it has slots; no request is refused."""
    go_on = threading.Event()

    def wait():
        go_on.wait(60)
        return ANSWER

    instances = [pretend("s1", wait), pretend("s2", wait)]
    balancer = balance(instances, slots=2)
    told = []
    clients = [threading.Thread(target=lambda: told.append(ask(balancer)))
               for _ in range(10)]
    for client in clients:
        client.start()
    wait_for(lambda: balancer.status("BACKEND")["qcur"] == "6", "a queue of 6")
    wait_for(lambda: [len(one.seen) for one in instances] == [2, 2],
             "two requests at each instance")
    go_on.set()
    for client in clients:
        client.join()
    assert told == 10 * [200]


# -------------------------------------------------------------- configuration

@pytest.mark.parametrize("name", BALANCERS)
def test_the_templates_say_which_variables_they_take(name):
    """Two must be given; each of the others has a default."""
    text = next(FOLDER.glob(f"{name}.*.j2")).read_text()
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    taken = jinja2.meta.find_undeclared_variables(environment.parse(text))
    assert taken == set(re.findall(r"^#   (\w+)  ", text, re.MULTILINE))
    instance = {"name": "s1", "host": "a.example.org", "port": 8001}
    filled_in = environment.from_string(text).render(
        balancer_port=8000, instances=[instance])
    assert "server" in filled_in and "a.example.org:8001" in filled_in
