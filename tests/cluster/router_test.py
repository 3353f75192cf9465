#!/usr/bin/env python3
"""The router and the worlds of the cluster tests: each fault does what it says, to real sockets."""

import contextlib
import hashlib
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

from lib import enclosure
from lib.world import PATIENCE, World, fill, until

PORT = 4000
ECHO = Path(__file__).parent / "lib/echo.py"
SERVED = "a world is made, its first process is "


class Talk:
    """A UDP socket on one node that talks to the echo on another one, in numbered datagrams."""

    def __init__(self, source, target, family=socket.AF_INET):
        with source.visit():
            self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.connect((target.ipv4 if family == socket.AF_INET else target.ipv6, PORT))
        self.sent = 0

    def send(self, count=1):
        for _ in range(count):
            with contextlib.suppress(ConnectionRefusedError):  # of the one before
                self.socket.send(b"%d" % self.sent)
            self.sent += 1

    def heard(self, seconds):
        """The number of the next datagram that came back, or None, also when nobody is there to send it back."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return None
        try:
            return int(self.socket.recv(100))
        except ConnectionRefusedError:
            return None

    def all_heard(self, seconds=0.02):
        """What has come back already, and whatever comes as soon after it."""
        numbers = []
        while (number := self.heard(seconds)) is not None:
            numbers.append(number)
        return numbers

    def hears(self, count):
        """The numbers of the next datagrams, as many as that."""
        return [self.heard(PATIENCE) for _ in range(count)]

    def round_trip(self):
        """The least time of a few, so that a busy machine counts little."""
        times = []
        for _ in range(5):
            began = time.monotonic()
            self.send()
            while self.heard(PATIENCE) != self.sent - 1:
                pass
            times.append(time.monotonic() - began)
        return min(times)

    def answered(self, seconds=0.3):
        self.send()
        return self.heard(seconds) is not None


class RouterTest(unittest.TestCase):
    def setUp(self):
        self.world = self.enterContext(World(router, ["a", "b", "c"]))
        self.echo = {name: self.world[name].start(sys.executable, "-B", ECHO, PORT) for name in "bc"}
        for name in self.echo:
            talk = self.talk("a", name)
            until(f"an echo on {name}", lambda talk=talk: talk.answered(0.1))
            talk.all_heard(0.05)

    def talk(self, source, target, family=socket.AF_INET):
        talk = Talk(self.world[source], self.world[target], family)
        self.addCleanup(talk.socket.close)
        return talk

    def counter(self, source, target, name):
        return self.world.counters()[source, target][name]

    def stream(self, source, target, size):
        """The digest of what an echo made of so many bytes, and the one it should have."""
        with self.world[source].visit():
            connection = socket.create_connection((self.world[target].ipv4, PORT), timeout=PATIENCE)
        data = random.Random(1).randbytes(size)
        back = hashlib.sha256()
        with connection:
            sender = threading.Thread(target=connection.sendall, args=[data])
            sender.start()
            left = size
            while left and (piece := connection.recv(65536)):
                back.update(piece)
                left -= len(piece)
            sender.join()
        return back.hexdigest(), hashlib.sha256(data).hexdigest()

    def test_nodes_reach_each_other_by_both_families_and_by_no_other_way(self):
        self.assertTrue(self.talk("a", "b", socket.AF_INET6).answered(PATIENCE))
        got, sent = self.stream("a", "b", 3_000_000)
        self.assertEqual(got, sent)
        if shutil.which("ping"):
            code, text = self.world["a"].run("ping", "-c", "1", "-W", "60", self.world["c"].ipv4)
            self.assertEqual(code, 0, text)
        code, text = self.world["a"].run("ip", "route", "show", "default")
        self.assertEqual(text, "", "there is no way out of the world")

    def test_a_delay_holds_packets_of_one_way_or_both(self):
        talk = self.talk("a", "b")
        self.world.set("a", "b", both=False, delay="60ms")
        self.assertGreaterEqual(talk.round_trip(), 0.06)
        self.world.set("a", "b", delay="60ms")
        self.assertGreaterEqual(talk.round_trip(), 0.12)
        self.world.set("a", "b", delay="1h")
        self.assertFalse(talk.answered())
        self.world.clear()
        talk.round_trip()

    def test_jitter_keeps_the_order_and_reordering_breaks_it(self):
        talk = self.talk("a", "b")
        self.world.set("a", "b", both=False, delay="5ms", jitter="40ms")
        talk.send(100)
        self.assertEqual(talk.hears(100), list(range(100)))
        self.world.set("a", "b", both=False, jitter="0", reorder=0.2, reorder_by="20ms")
        talk.send(100)
        numbers = talk.hears(100)
        self.assertEqual(sorted(numbers), list(range(100, 200)))
        self.assertNotEqual(numbers, sorted(numbers))

    def test_loss_and_duplicates_are_as_many_as_the_counters_say(self):
        talk = self.talk("a", "b")
        self.world.set("a", "b", both=False, loss="30%")
        self.world.set("b", "a", both=False, duplicate="50%")
        before = self.world.counters()
        numbers = []
        for _ in range(50):  # few at a time, which no buffer of a socket is too small for
            talk.send(10)
            numbers += talk.all_heard()

        def since(source, target, name):
            return self.counter(source, target, name) - before[source, target][name]
        until("all that was not lost", lambda: numbers.extend(talk.all_heard()) or len(numbers) >=
              500 - since("a", "b", "lost") + since("b", "a", "duplicated"))
        numbers += talk.all_heard(0.3)
        lost, doubled = since("a", "b", "lost"), since("b", "a", "duplicated")
        self.assertGreater(lost, 80)
        self.assertLess(lost, 230)
        self.assertEqual(len(set(numbers)), 500 - lost)
        self.assertEqual(len(numbers), 500 - lost + doubled)
        self.assertGreater(doubled, 80)

    def test_a_rate_holds_a_stream_back_and_a_full_queue_drops(self):
        self.world.set("a", "b", both=False, rate="200kB")
        began = time.monotonic()
        got, sent = self.stream("a", "b", 100_000)
        self.assertEqual(got, sent)
        self.assertGreaterEqual(time.monotonic() - began, 0.4)
        self.world.set("a", "b", both=False, rate="1kB", queue=5)
        self.talk("a", "b").send(50)
        until("an overflow", lambda: self.counter("a", "b", "overflow") > 0)

    def test_a_cut_may_be_one_way(self):
        there, back = self.talk("a", "b"), self.talk("a", "c")
        self.world.cut("b", "a", both=False)
        self.assertFalse(there.answered())
        self.assertTrue(back.answered(PATIENCE))
        self.assertGreater(self.counter("b", "a", "cut"), 0, "b was asked, and its answers were cut")
        self.assertEqual(self.counter("a", "b", "cut"), 0)
        self.world.heal("b", "a", both=False)
        self.assertTrue(there.answered(PATIENCE))

    def test_groups_are_split_and_healed(self):
        self.world.split(["a"], ["b", "c"])
        self.assertFalse(self.talk("a", "b").answered())
        self.assertFalse(self.talk("a", "c").answered())
        self.assertTrue(self.talk("b", "c").answered(PATIENCE))
        self.world.heal()
        self.assertTrue(self.talk("a", "b").answered(PATIENCE))

    def test_a_stream_survives_what_a_network_does(self):
        self.world.set("a", "b", loss="2%", duplicate="2%", reorder="5%", reorder_by="3ms", delay="1ms", jitter="1ms")
        got, sent = self.stream("a", "b", 300_000)
        self.assertEqual(got, sent)

    def test_processes_are_paused_starved_and_killed(self):
        talk = self.talk("a", "b")
        self.echo["b"].pause()
        self.assertFalse(talk.answered())
        self.echo["b"].resume()
        self.assertIsNotNone(talk.heard(PATIENCE), "what came meanwhile is answered")
        self.echo["b"].starve(ratio=0.1, period=0.4)
        began = time.monotonic()
        for _ in range(20):
            self.assertTrue(talk.answered(PATIENCE))
            time.sleep(0.05)
        self.assertGreater(time.monotonic() - began, 1.5, "most answers had to wait for the process to run")
        self.echo["b"].feed()
        self.echo["b"].kill()
        self.assertFalse(self.echo["b"].alive())
        self.assertFalse(talk.answered())
        self.echo["b"] = self.world["b"].start(sys.executable, "-B", ECHO, PORT)
        until("an echo that was started again", lambda: talk.answered(0.1))

    def test_a_node_can_join_later(self):
        self.world.add("d")
        self.assertTrue(self.talk("d", "b").answered(PATIENCE))

    def test_a_page_of_a_node_is_read_from_the_node_itself(self):
        self.assertEqual(self.world["a"].get(4001, "/")[0], 0)
        self.world["a"].start(sys.executable, "-B", "-m", "http.server", "4001")
        self.world.split("a", "b", "c")
        until("a page", lambda: self.world["a"].get(4001, "/a.log")[0] == 200)
        self.assertEqual(self.world["a"].get(4001, "/absent")[0], 404)

    def test_a_disk_can_be_filled_and_emptied(self):
        disk = self.world["a"].disk("1M")
        filled = fill(disk)
        with self.assertRaises(OSError):
            (disk / "vote").write_bytes(b"x" * 4096)
        filled.unlink()
        (disk / "vote").write_bytes(b"x" * 4096)

    def test_a_wrong_line_is_told(self):
        for wrong in ("cut a > nobody", "set a > b loss 3", "what", "node a a 10.77.0.1", "node e nowhere 10.77.0.4"):
            with self.assertRaises(ValueError, msg=wrong):
                self.world.tell(wrong)
        self.assertTrue(self.talk("a", "b").answered(PATIENCE))
        self.world.add("d")
        self.assertTrue(self.talk("d", "b").answered(PATIENCE), "a node that could not be made has left nothing behind")


class CleanUp(unittest.TestCase):
    def test_a_test_that_is_killed_leaves_nothing(self):
        def seen():
            return (subprocess.check_output(["ip", "-brief", "link"]), sorted(enclosure.NAMESPACES.iterdir()),
                    sorted(os.listdir("/sys/class/net")))

        before = seen()
        environment = {key: value for key, value in os.environ.items() if key != enclosure.MARK}
        with subprocess.Popen([sys.executable, "-B", __file__, router, "--serve"], env=environment,
                              stdout=subprocess.PIPE, text=True) as other:
            mark = other.stdout.readline().removeprefix(SERVED).strip()
            self.assertTrue(mark)
            try:
                until("its process", lambda: runs(mark))
            finally:
                other.send_signal(signal.SIGKILL)
        until("the end of its processes", lambda: not runs(mark))
        self.assertEqual(seen(), before)


def runs(mark):
    """Whether a process has this in its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes():
                return True
    return False


def serve_until_killed():
    with World(router, ["a"]) as world:
        mark = f"7{random.randrange(10**8, 10**9)}"
        world["a"].start("sleep", mark)
        print(SERVED + mark, flush=True)
        time.sleep(60)


if __name__ == "__main__":
    enclosure.enter()
    router = sys.argv[1]
    if sys.argv[2:] == ["--serve"]:
        serve_until_killed()
    else:
        del sys.argv[1]
        unittest.main()
