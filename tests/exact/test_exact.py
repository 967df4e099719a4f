"""The exact machine's plans, what it prints, and the parts that functions belong to: all that
needs no machine."""

import re
import subprocess

import pytest

from tools.book import figures
from tools.exact import cells, command, count, curves, image, machine, parts, programs, \
    report, results, why

OUTPUT = """\
symbols
ffffffff81000000 T first
end of symbols
maps
555555554000-555555556000 r-xp 00000000 00:01 17 /bin/epoll
end of maps
cell /requests/answer-close
window 100 20 300
window 110 20 300
cell /requests/answer
window 50 0 60
memory 3
a line of the server
done
"""
WINDOW = """\
block server 0 555555555010 {0}
block server 1 ffffffff81000104 {1}
window server {0} {1}
window redis 5 15
window load 100 200
window holder 0 0
window worker 1 2
window ending 0 3
"""
COUNTS = "".join(WINDOW.format(n, 10 * n) for n in (10, 12, 4))


def test_what_a_machine_printed():
    """Windows of cells, in order, from both sides."""
    booted = machine.read(OUTPUT, COUNTS.splitlines())
    assert [len(windows) for windows in booted.cells] == [2, 1]
    assert booted.cells[0][1].charged == {"server": 110, "redis": 20, "load": 300}
    assert booted.cells[1][0].counted["server"] == (5, 45)      # with its workers and their end
    assert booted.cells[1][0].blocks == [("server", False, 0x555555555010, 4),
                                         ("server", True, 0xffffffff81000104, 40)]
    assert booted.memory == [3072]
    assert booted.symbols == ["ffffffff81000000 T first"]
    assert booted.maps == [["555555554000-555555556000 r-xp 00000000 00:01 17 /bin/epoll"]]


def counted(*sums):
    """Return a Counted whose windows cost the server these sums, half of each in user mode."""
    return count.Counted([{"server": (n / 2, n / 2), "redis": (0, 0), "load": (0, 0),
                           "worker": (0, 0), "ending": (0, 0)}
                          for n in sums],
                         [{"server": n, "redis": 0, "load": 0} for n in sums])


def test_a_cost_is_the_mean_of_its_windows():
    """Where it goes is seen in the middle one."""
    cell = counted(100, 102, 104)
    assert cell.cost("server") == (51, 51) and cell.middle == 1
    assert cell.width == pytest.approx(4 / 102)
    assert cell.gap == pytest.approx(0)


def program(name="epoll", words=("--port", "8000"), peer=False):
    """Return a Program that need not be there."""
    return programs.Program(name, name, None, words, peer)


def test_a_plan_starts_a_server_once():
    """All cells at one server, unless clients that keep their connection need another."""
    two = [cells.CELLS["answer"], cells.CELLS["answer-kept"]]
    lines = cells.plan(program(), two, windows=2).decode().splitlines()
    assert lines == ["redis /bin/redis-server /redis.conf", "server /bin/epoll --port 8000", "maps",
                     "cell /requests/answer-close 20 0 1 400 2 400",
                     "cell /requests/answer 1 1 1 800 2 400", "stop"]
    floor = program("floor-poll", ("8000", "{mode}"), True)
    lines = cells.plan(floor, two).decode().splitlines()
    assert lines[1] == "peer /bin/floor-poll 8000 close"
    assert lines[4:6] == ["stop", "peer /bin/floor-poll 8000 keep"]
    assert lines[-2] == "cell /requests/answer 1 1 1 800 5 400"


def test_a_floor_is_asked_for_nothing_but_the_answer():
    """And a blocking one, which closes, on new connections only."""
    floor = programs.Program("floor-threaded", "", None, ("8000",), True, ("answer",))
    assert floor.can(cells.CELLS["answer"])
    assert not floor.can(cells.CELLS["answer-kept"]) and not floor.can(cells.CELLS["hello"])
    assert program().can(cells.CELLS["guestbook-kept"])


def test_requests_are_whole():
    """An empty line ends each head, and what follows has the length that it names."""
    for name, request in cells.requests().items():
        head, end, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        assert end and len(body) == (int(length[1]) if length else 0), name
        assert (b"Connection: close" in head) == name.endswith("-close")


@pytest.mark.parametrize("words, said", [
    (["--servers", "09"], "SERVER has '09'; it can have 01_iterative"),
    (["--cells", "tea"], "EXPERIMENT has 'tea'; it can have all, or answer"),
    (["--peers", "iis"], "PEERS has 'iis'; here it can have nginx"),
    (["--variant", "x"], "VARIANT: there is no variants/x.md"),
    (["--kernel", "2.4"], "KERNEL is '2.4'; it can be 6.1"),
    (["--clients", "2001"], "CLIENTS is 2001; it can be 1 to 2000")])
def test_a_wrong_setting_is_a_sentence(words, said, capsys):
    """Which names what there is."""
    assert command.run([*words, "--settings"]) == 2
    assert said in capsys.readouterr().err


def test_an_archive_is_the_same_each_time(tmp_path):
    """Whatever the order of its files; cpio(1) would unpack it to what went in."""
    (tmp_path / "program").write_bytes(b"#!")
    (tmp_path / "program").chmod(0o755)
    files = {"bin/program": tmp_path / "program", "a": b"12345", "deep/er/b": b""}
    image.archive(files, tmp_path / "one")
    image.archive(dict(reversed(files.items())), tmp_path / "two")
    data = (tmp_path / "one").read_bytes()
    assert data == (tmp_path / "two").read_bytes()
    assert list(entries(data)) == [
        ("a", 0o100644, b"12345"), ("bin", 0o40755, b""), ("bin/program", 0o100755, b"#!"),
        ("deep", 0o40755, b""), ("deep/er", 0o40755, b""), ("deep/er/b", 0o100644, b"")]


def entries(data):
    """Yield (name, mode, contents) of a newc archive, as cpio(5) describes it."""
    at = 0
    while True:
        assert data[at:at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        name = data[at + 110:at + 110 + fields[11] - 1].decode()
        at += 110 + fields[11] + -(110 + fields[11]) % 4
        if name == "TRAILER!!!":
            return
        yield name, fields[1], data[at:at + fields[6]]
        at += fields[6] + -fields[6] % 4


@pytest.mark.parametrize("function, part", [
    ("entry_SYSCALL_64", "system calls"), ("__schedule", "waking and scheduling"),
    ("try_to_wake_up", "waking and scheduling"), ("ep_poll_callback", "poll and epoll"),
    ("do_sys_poll", "poll and epoll"), ("io_submit_sqes", "io_uring"),
    ("tcp_sendmsg_locked", "TCP out"),
    ("tcp_ack", "TCP in"), ("tcp_v4_syn_recv_sock", "connections"),
    ("__x64_sys_accept4", "system calls"), ("inet_csk_accept", "connections"),
    ("__alloc_skb", "packet buffers"), ("handle_softirqs", "loopback and soft interrupts"),
    ("sock_recvmsg", "sockets"), ("do_filp_open", "files"), ("copy_process", "fork"),
    ("copy_page_range", "page tables"), ("do_anonymous_page", "page faults"),
    ("do_exit", "exit and signals"), ("kmem_cache_alloc", "memory allocation"),
    ("clear_page_rep", "copying and clearing"), ("__mod_timer", "timers and clocks"),
    ("_raw_spin_lock", "locks"), ("futex_wait", "locks"),
    ("tcp_schedule_loss_probe.part.0", "TCP out"), ("drm_ioctl", parts.REST)])
def test_a_function_has_its_part(function, part):
    """By the longest pattern."""
    assert parts.part_of(function) == part


def test_no_pattern_stands_twice():
    """In two parts, one would have no effect."""
    every = [pattern for part in parts.PARTS for pattern in part["functions"].split()]
    assert len(every) == len(set(every)), {one for one in every if every.count(one) > 1}
    assert not [one for one in every if not re.fullmatch(r"[A-Za-z0-9_*]+", one)]


KALLSYMS = """\
ffffffff81000000 T startup_64
ffffffff81000100 t handle_softirqs
ffffffff81000200 T tcp_ack
ffffffff81000200 T tcp_ack_alias
ffffffff81000300 d a_variable
ffffffffc0000000 t in_a_module\t[fuse]
""".splitlines()


def test_addresses_of_the_kernel():
    """A function reaches to the next one; modules and variables are none."""
    kernel = parts.Kernel(KALLSYMS)
    assert kernel.function(0xffffffff810001ff) == "handle_softirqs"
    assert kernel.softirq() == (0xffffffff81000100, 0xffffffff81000200)
    assert "in_a_module" not in kernel.names and "a_variable" not in kernel.names


@pytest.fixture(name="code")
def code_of_a_program(tmp_path):
    """The Code of a program that was compiled just now, as if it were mapped."""
    (tmp_path / "program.c").write_text("int f(void) { return 1; } int main(void) { return f(); }")
    subprocess.run(["gcc", "-g", "-fPIE", "-pie", "-o", "program", "program.c"], cwd=tmp_path,
                   check=True)
    return parts.Code(["555555554000-555555559000 r-xp 00000000 00:01 17 /bin/program",
                       "7ffff7c00000-7ffff7d00000 r-xp 00000000 00:01 18 /lib/libc.so.6",
                       "7ffff7fc0000-7ffff7fc2000 r-xp 00000000 00:00 0 [vdso]"],
                      tmp_path / "program")


def test_a_program_may_be_at_a_fixed_place(tmp_path):
    """Its symbols are addresses then. Go builds such programs."""
    (tmp_path / "program.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-no-pie", "-o", "program", "program.c"], cwd=tmp_path, check=True)
    code = parts.Code(["00400000-00404000 r-xp 00000000 00:01 17 /bin/program"],
                      tmp_path / "program")
    main = dict(zip(code.names, code.starts))["main"]
    assert 0x400000 < main < 0x404000 and code.function(main + 1) == "main"
    assert code.function(0x7ffff7c00010) == "memory"


def test_where_instructions_go(code):
    """By function; those of soft interrupts, and of the load, apart; nothing is lost."""
    kernel = parts.Kernel(KALLSYMS)
    f = dict(zip(code.names, code.starts))["f"]
    found = parts.where([("server", False, f, 20), ("server", False, 0x7ffff7c00010, 8),
                         ("server", False, 0xffffffff81000204, 12),
                         ("server", True, 0xffffffff81000200, 4),
                         ("load", True, 0xffffffff81000200, 6),
                         ("load", False, 0xffffffff81000200, 600), ("redis", False, f, 9)],
                        2, kernel, code)
    assert (found.user, found.kernel) == ({"f": 10, "libc.so.6": 4}, {"tcp_ack_alias": 6})
    named = found.parts()
    assert named[parts.OWN] == (10, 0) and named[parts.LIBRARIES] == (4, 0)
    assert named["TCP in"] == (6, 2)
    assert sum(map(sum, named.values())) == 22
    assert found.load_parts() == {"TCP in": 3}


def test_tables_and_pictures():
    """Of servers that were counted; one that cannot be asked is left out."""
    where = [parts.Where({"f": 1000 * n}, {"tcp_ack": 500}, {"tcp_ack": 100}, {"tcp_ack": 70})
             for n in (1, 2)]
    three = [program("preforking"), program("threaded"), program("floor-poll")]
    cell = cells.CELLS["guestbook"]
    both = {"preforking": {"guestbook": counted(1)}, "threaded": {"guestbook": counted(1)},
            "floor-poll": {}}
    for name, one in zip(both, where):
        both[name]["guestbook"].where = one
    lines = why.table(three, cell, both)
    assert lines[1].split() == ["preforking", "threaded"]
    assert lines[2].split()[-2:] == ["1.0", "2.0"]
    assert lines[-1].split()[-2:] == ["0.1", "0.1"]
    pictures = pytest.importorskip("tools.exact.pictures")
    assert "TCP in" in pictures.of_server("one", {"guestbook": where[0]})
    svg = pictures.difference("one", "other", {"guestbook": where})
    assert "other needs more" in svg and "TCP in" not in svg    # equal in both


def test_results_come_back(tmp_path):
    """As they were counted, for the book."""
    cell = counted(100, 102, 104)
    cell.memory = 4096
    cell.where = parts.Where({"f": 30}, {"tcp_ack": 50}, {"tcp_ack": 20}, {"tcp_ack": 7})
    results.write(tmp_path, "exact.json", {"qemu": "7.2"}, {"epoll": {
        "answer": results.of_cell(cell)}})
    results.write(tmp_path, "curves.json", {}, {"idle/epoll": {1000: results.of_cell(cell)}})
    table = results.read(tmp_path)
    assert table.machine == {"qemu": "7.2"} and table.cells["epoll"]["answer"].total == 102
    assert table.cells["epoll"]["answer"].parts()["TCP in"] == (50, 20)
    assert table.curves["idle"]["epoll"][1000].user == 51
    assert table.curves["idle"]["epoll"][1000].told["memory"] == 4096


def test_a_report_holds_all_it_needs(tmp_path):
    """Tables, pictures and curves of the file that it is made of, and no address on a network."""
    pytest.importorskip("jinja2")
    cell = counted(2000, 2000, 2000)
    cell.where = parts.Where({"f": 1000}, {"tcp_ack": 900}, {"tcp_ack": 100}, {})
    facts = {"qemu": "7.2", "cpu": "max", "source": "<b>", "packages": {"gcc-12": "12.2"}}
    results.write(tmp_path, "exact.json", facts, {"epoll": {"answer": results.of_cell(cell)},
                                                  "floor-poll": {"answer": results.of_cell(cell)}})
    results.write(tmp_path, "curves.json", facts, {"idle/io_uring": {
        size: results.of_cell(cell) for size in curves.CURVES["idle"].at}})
    (tmp_path / "parts_epoll.svg").write_text("<svg></svg>")
    page = report.make(tmp_path, "exact.json", {"parts_epoll.svg": "Of 07"}).read_text()
    assert "<td class=words>07_epoll</td><td>2.0 (1.0)</td>" in page and "floor-poll" in page
    assert "<td class=words>TCP in</td><td>1.0</td>" in page and 'alt="Of 07"' in page
    assert "&lt;b&gt;" in page and "io_uring" not in page
    assert not re.search(r"https?://", page)
    page = report.make(tmp_path, "curves.json", {}).read_text()
    assert "<th>08_io_uring</th>" in page and "floor-poll" not in page
    assert "<td class=words>10,000</td><td>2.0</td>" in page


def test_symbols_that_cannot_be_read_are_a_sentence(tmp_path):
    """Not a traceback of nm."""
    (tmp_path / "program").write_bytes(b"not a program of any kind")
    with pytest.raises(machine.MachineError, match="symbols of .*program cannot be read"):
        parts.Code(["00400000-00404000 r-xp 00000000 00:01 17 /bin/program"], tmp_path / "program")


def test_a_slope_is_what_each_unit_adds():
    """By the smallest squares."""
    assert curves.slope({0: 10, 10: 40, 20: 70}) == pytest.approx((3, 10))
    curve = curves.CURVES["workers"]
    assert curves.CURVES["clients"].lines(program(), 70)[2] == \
        "cell /requests/answer-close 70 0 1 400 3 400"
    assert curve.lines(program("preforking"), 300) == [
        "server /bin/preforking --port 8000 --workers 300", "maps",
        "cell /requests/answer-close 1 0 1 1700 3 200", "stop"]
    with pytest.raises(ValueError, match="CURVE has 'tea'; it can have all, or idle"):
        curves.chosen("idle,tea")


def test_the_plan_of_open_connections():
    """Each has asked once before what is counted; then the server's memory is written down. It
    takes half an hour, so that CURVE=all does without."""
    curve = curves.CURVES["open"]
    asks = ["maps", "cell /requests/hello 30000 1 1 30000 1 100000", "memory", "stop"]
    assert curve.lines(program("epoll"), 30000) == [
        "descriptors 200000", "server /bin/epoll --port 8000 --keep-alive 3600", *asks]
    peer = program("nginx", peer=True)
    assert curve.lines(peer, 30000) == ["descriptors 200000", "peer /bin/nginx --port 8000", *asks]
    assert curve.lines(program("go", peer=True), 30000)[1] == "packets 200000"
    assert curve not in curves.chosen("all") and curve in curves.chosen("idle,open")


def test_a_machine_for_each_size():
    """Where the curve says how much memory it has: what one size leaves behind is not in the
    next."""
    booted = []

    class Bench:
        """Counts any plan."""
        programs = [program("epoll")]
        kernel = staticmethod(lambda: None)

        @staticmethod
        def count_plan(_program, _plan, sizes, _why, mebibytes):
            """Return a figure for each size."""
            booted.append(([one.connections for one in sizes], mebibytes))
            return {one.name: counted(1) for one in sizes}
    for name in ("open", "idle"):
        curve = curves.CURVES[name]
        assert list(curves.count_all(Bench, curve, print, {})["epoll"]) == curve.at
    assert booted == [([10000], 12288), ([30000], 12288), ([50000], 12288), ([100000], 12288),
                      ([1] * 5, 0)]


def test_a_size_that_fails_loses_no_other():
    """It is left out, with the reason; a server without any size is, too. So is a size whose parts
    do not add up within 1 %."""
    class Bench:
        """Counts one of two programs, and of that all sizes but one."""
        programs = [program("epoll"), program("poll")]
        kernel = staticmethod(lambda: None)

        @staticmethod
        def count_plan(one, _plan, sizes, *_):
            """Return a figure for a size, or fail."""
            if one.name == "poll" or sizes[0].name == "50000":
                raise machine.MachineError("it was not done")
            cell = counted(1)
            cell.charged[0]["load"] = 0.02 if sizes[0].name == "30000" else 0.005
            return {sizes[0].name: cell}
    curve, failed = curves.CURVES["open"], {}
    found = curves.count_all(Bench, curve, print, failed)
    assert list(found) == ["epoll"] and list(found["epoll"]) == [10000, 100000]
    assert failed["epoll", (50000,)] == "it was not done" and len(failed) == 2 + len(curve.at)
    assert "differs by -2.0 % from what the kernel charged" in failed["epoll", (30000,)]
    found["epoll"][10000].where = found["epoll"][100000].where = parts.Where({}, {}, {}, {})
    lines = curves.table(Bench.programs, curve, found)
    assert [line.split()[1] for line in lines[2:6]] == ["0.0", "-", "-", "0.0"]
    assert curves.slope({5: 7}) == (0, 7)


def test_pages_can_name_what_was_counted():
    """As the roles of the book have it."""
    def cost(kernel):
        return results.Cost(10, kernel, {"user": 10, "parts": {"TCP in": [3, 4]}})
    found = figures.counted(results.Table({}, {"epoll": {"answer": cost(20)}}, {
        "idle": {"poll": {0: cost(0), 1000: cost(5000)}}}))
    assert found["exact"].epoll["answer"].total == 30
    assert found["exact"].epoll["answer"].parts["TCP in"] == 7
    assert found["exact_curve"].idle.poll[1000].total == 5010
    assert found["exact_slope"].idle.poll == pytest.approx(5)


def test_a_server_that_fails_loses_nobody_elses_figures(capsys):
    """It is left out, with the reason; an error is raised if none is left."""
    class Bench:
        """Counts one of two programs."""
        programs = [program("poll"), program("epoll")]

        @staticmethod
        def count(one, _cells, _why):
            """Return a figure, or fail."""
            if one.name == "epoll":
                raise machine.MachineError("it stopped early")
            return {"answer": counted(1)}
    assert list(count.count_all(Bench, [])) == ["poll"]
    assert [one.name for one in Bench.programs] == ["poll"]
    assert "epoll is left out: it stopped early" in capsys.readouterr().err
    Bench.programs = [program("epoll")]
    with pytest.raises(machine.MachineError):
        count.count_all(Bench, [])
