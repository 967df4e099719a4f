"""Which servers run which cases, when not every case runs on all seven.

All seven share the code that parses a request and makes an answer. What differs
is how a server waits. So the tests of the protocol, with thousands of cases, need
not run on each server, but the tests of architecture, signals and faults do. The
tests of the guestbook, of Redis and of deadlines do too, except in the slow
sanitizer builds.

The choice is deterministic: a case runs on the same servers each time.
"""

import zlib

LOOPS = ("poll", "epoll")               # the event loops; the others block
IN_FULL = ("iterative", "epoll")        # one of each kind

MODES = {
    "three": "iterative, epoll and one other server, in rotation",
    "two": "one blocking server and one event loop, both in rotation",
}

# The files of which each mode takes a sample.
PROTOCOL = {"test_compliance", "test_connections", "test_endpoints",
            "test_error_pages", "test_limits", "test_malformed", "test_options",
            "test_paths", "test_static"}
FILES = {"three": PROTOCOL,
         "two": PROTOCOL | {"test_guestbook", "test_log_names_its_request",
                            "test_nothing_cut", "test_redis", "test_timeouts"}}

# Tests that take 0.5 s or more on one server, because they wait for a deadline.
# `make test` leaves them out. None stands for all tests of a file.
SLOW = {
    "test_timeouts": None,
    "test_harness": {"test_a_server_that_ends_badly"},
    "test_log_names_its_request": {
        "test_a_time_out_names_the_request_that_was_late"},
    "test_models": {
        "test_a_silent_client_is_kept_while_no_client_waits",
        "test_behind_silent_clients_a_client_waits_for_one_grace",
        "test_more_silent_clients_than_descriptors",
        "test_nothing_is_left_after_a_thousand_connections",
        "test_the_kernel_holds_a_silent_client_of_an_event_loop"},
    "test_redis": {"test_a_client_that_goes_while_its_page_waits_for_redis",
                   "test_a_frozen_redis",
                   "test_redis_ends_an_idle_connection",
                   "test_redis_stops_and_comes_back",
                   "test_something_that_is_not_our_redis"},
    "test_signals": {"test_every_answer_that_was_begun_is_finished",
                     "test_the_drain_time_out_bounds_the_stop"},
    "test_static": {
        "test_a_change_shows_in_the_etag",
        "test_a_changed_file_is_served_new_within_a_second",
        "test_a_removed_file_is_gone_and_a_new_one_is_there",
        "test_a_replaced_file_is_served_new_though_size_and_time_are_the_same"},
}


def is_slow(file, test):
    """Return whether a test, without its parameters, is slow."""
    names = SLOW.get(file, ())
    return names is None or test in names


def servers_for(number, servers, mode):
    """Return which of `servers` run the case with this number.

    Consecutive numbers rotate through the servers, so that each server gets its
    share. If only one kind of server is there, every case still runs once.
    """
    if mode == "three":
        chosen = [name for name in servers if name in IN_FULL]
        groups = [[name for name in servers if name not in IN_FULL]]
    else:
        chosen = []
        groups = [[name for name in servers if name not in LOOPS],
                  [name for name in servers if name in LOOPS]]
    return chosen + [group[number % len(group)] for group in groups if group]


class Numbering:
    """Gives each case of a test its number, in the order of the calls.

    The first number depends on the test's name: tests with a single case do not
    all run on the same server.
    """

    def __init__(self):
        self.cases = {}

    def number(self, file, test, case):
        """Return the number of a case, the same for the same case."""
        known = self.cases.setdefault((file, test), {})
        first = zlib.crc32(f"{file}::{test}".encode())
        return first + known.setdefault(case, len(known))
