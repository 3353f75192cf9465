#!/usr/bin/env python3
"""The screen of `bellwether run`, in a real terminal emulator: what stands there, keys, sizes, and that the terminal is
itself again however the run ends."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import termios
from pathlib import Path

from lib import local_nodes, product
from lib.daemon import lives, until
from lib.tmux import Tmux

SCENARIO = """
name: shop
workflows:
  browse:
    vus: 2
    duration: 10m
    steps:
      list: {http: {get: "URL/json"}, think: 20ms}
      item: {http: {get: "URL/items"}, think: 20ms}
  buy:
    executor: constant-arrival-rate
    rate: 20/s
    vus: 5
    duration: 10m
    steps:
      pay: {http: {get: "URL/json"}}
thresholds:
  http_req_failed: rate<0.01
  http_req_duration: p(95)<0.001
"""


def turns(pid):
    """How often the control thread has waited."""
    status = Path(f"/proc/{pid}/task/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE).group(1))


class ScreenTest(product.Test):
    def setUp(self):
        super().setUp()
        self.target = self.start("target", "--listen", "127.0.0.1:0")
        self.url = re.search(r"https?://\S+", product.Reader(self.target.stdout).wait_for("listening on")).group()
        self.scenario = self.write("shop.yaml", SCENARIO.replace("URL", self.url))

    def terminal(self, *size, environment=None):
        folder = self.folder / f"terminal{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        terminal = Tmux(folder, *size, environment=environment)
        self.addCleanup(terminal.close)
        return terminal

    def running(self, terminal, *arguments):
        """A run on that terminal whose first seconds are on the screen."""
        terminal.run(product.binary, "run", self.scenario, *arguments)
        terminal.shows("shop", "requests ", "running", "q quit", without=("requests 0 ",))
        return terminal.process()

    def requests(self, screen):
        return int(re.search(r"requests ([\d,]+)", screen).group(1).replace(",", ""))


class Looks(ScreenTest):
    def test_a_run_is_seen_on_80_by_24_and_obeys_its_keys(self):
        terminal = self.terminal(80, 24)
        self.running(terminal)
        self.assertTrue(terminal.on_screen_of_its_own())
        screen = terminal.shows("✗ http_req_duration  p(95)<0.001", "✓ http_req_failed  rate<0.01", "p99", "users ")
        lines = screen.splitlines()
        self.assertIn(f"shop → {self.url}", lines[0])
        self.assertRegex(lines[0], r"running  0:\d\d / 10:00$")
        self.assertRegex(screen, r"[⠁-⣿]")
        before = self.requests(screen)
        until("more requests", lambda: self.requests(terminal.text()) > before)
        # Each workflow has its turn; a key holds one.
        terminal.shows("browse (1/2)", "list", "item")
        terminal.shows("buy (2/2)", "pay", "dropped")
        terminal.keys("n")
        first = terminal.shows("a turn pages")
        name = re.search(r"(browse|buy) \(", first).group(1)
        terminal.keys("Right")
        terminal.shows("buy (" if name == "browse" else "browse (")
        terminal.keys("Left")
        terminal.shows(f"{name} (")
        terminal.keys("?")
        terminal.shows("Keys", "stop the run", "pause or resume")
        terminal.keys("x", "n")
        terminal.shows("q quit", without=("Keys",))
        terminal.keys("p")
        terminal.shows("paused  0:", "p resume", "paused: no iterations start", without=("running",))
        terminal.keys("p")
        before = self.requests(terminal.shows("running  0:", "p pause", without=("p resume",)))
        until("more requests after the pause", lambda: self.requests(terminal.text()) > before)
        # It asks before it stops.
        terminal.keys("q")
        terminal.shows("y/n Stop the run?")
        terminal.keys("n")
        terminal.shows("q quit", without=("y/n",))
        terminal.keys("q")
        terminal.shows("y/n Stop the run?")
        terminal.keys("y")
        terminal.shows("ABORTED", "exit code 105", "\n$")
        terminal.run("echo", "code=$?")
        self.assertTrue(terminal.sane())

    def test_the_layout_follows_the_size(self):
        terminal = self.terminal(200, 60)
        self.running(terminal)
        screen = terminal.shows("thresholds", "response time", "overall").splitlines()
        beside = next(line for line in screen if "response time" in line)
        self.assertIn("thresholds", beside)
        self.assertIn("q quit", screen[59])
        for columns, rows in ((80, 24), (40, 10), (20, 5), (120, 40)):
            terminal.resize(columns, rows)
            until(f"a screen of {columns} by {rows}", lambda: self.fits(terminal, columns, rows))
        terminal.keys("C-c")
        terminal.shows("ABORTED")
        self.assertTrue(terminal.sane())

    def fits(self, terminal, columns, rows):
        lines = terminal.text().splitlines()
        return (len(lines) == rows and "q quit" in lines[-1] and "shop" in lines[0]
                and any("requests" in line for line in lines[1:-1]) and len(lines[0]) == columns)

    def test_without_utf8_and_colour_it_is_plain(self):
        terminal = self.terminal(80, 24, environment={"LC_ALL": "C", "NO_COLOR": "1"})
        self.running(terminal)
        screen = terminal.shows("x http_req_duration", "response time")
        self.assertTrue(screen.isascii(), screen)
        colour = r"\x1b\[[\d;]*\b(3|4)[0-7]m"
        self.assertNotRegex(terminal.text("-e"), colour)
        terminal.keys("C-c")
        terminal.shows("ABORTED")
        self.assertNotRegex(terminal.text("-e"), colour, "the summary")

    def test_with_colour_it_is_coloured(self):
        terminal = self.terminal(80, 24)
        self.running(terminal)
        self.assertRegex(terminal.text("-e"), r"\x1b\[3[0-7]m")
        terminal.keys("C-c")
        terminal.shows("ABORTED")


class Chooses(ScreenTest):
    def test_lines_where_a_screen_is_not_wanted_or_cannot_be(self):
        terminal = self.terminal(120, 24)
        for setting in ("CI=1", "TERM=dumb"):
            terminal.run("env", setting, product.binary, "run", self.url, "--duration", "2200ms")
            said = until(f"lines and a summary with {setting}", lambda: self.said(terminal))
            self.assertNotIn("q quit", said)
        terminal.run("env", "CI=1", product.binary, "run", self.url, "--duration", "1h", "--ui", "full")
        terminal.shows("q quit")
        terminal.keys("C-c")
        terminal.shows("ABORTED")

    def said(self, terminal):
        """All that stands there, when the command has ended."""
        said = terminal.text("-S", "-")
        return said if all(text in said for text in ("running  vus 1", "PASS")) else None

    def test_a_screen_is_refused_without_a_terminal(self):
        run = self.bellwether("run", self.url, "--ui", "full", "--duration", "1s")
        self.assert_refused(run, "--ui full", "no terminal", "--ui ci")


class Ends(ScreenTest):
    def test_whatever_kills_it_gives_the_terminal_back(self):
        terminal = self.terminal(80, 24)
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(number.name):
                pid = self.running(terminal)
                os.kill(pid, number)
                until("its end", lambda: not lives(pid))
                terminal.run("echo", "code=$?")
                terminal.shows("code=", without=("q quit",))
                self.assertTrue(terminal.sane(), terminal.modes())

    def test_a_signal_to_end_it_ends_it_with_a_summary(self):
        terminal = self.terminal(80, 24)
        pid = self.running(terminal)
        os.kill(pid, signal.SIGTERM)
        terminal.shows("SIGTERM", "ABORTED", "\n$")
        self.assertTrue(terminal.sane())

    def test_a_second_ctrl_c_ends_what_does_not_finish(self):
        self.scenario = self.write("slow.yaml", SCENARIO.replace("URL/items", f"{self.url}/delay/60s").replace(
            "URL", self.url))
        terminal = self.terminal(80, 24)
        self.running(terminal)
        terminal.keys("C-c")
        terminal.shows("stopping", "Stop again to end at once")
        terminal.keys("q")
        terminal.shows("y/n End at once?")
        terminal.keys("y")
        terminal.shows("ABORTED", "\n$")
        self.assertTrue(terminal.sane())

    def test_it_is_suspended_and_goes_on(self):
        terminal = self.terminal(80, 24)
        self.running(terminal)
        for _ in range(2):
            terminal.keys("C-z")
            terminal.shows("Stopped", without=("q quit",))
            until("a sane terminal", terminal.sane)
            terminal.keys("fg", "Enter")
            terminal.shows("q quit", "running", "shop")
            self.assertTrue(terminal.on_screen_of_its_own())
            self.assertNotIn("icanon", terminal.modes())
        # In the background it leaves the terminal to others.
        pid = terminal.process()
        terminal.keys("C-z")
        terminal.shows("Stopped")
        before = turns(pid)
        terminal.keys("bg", "Enter")
        until("some turns of its loop", lambda: turns(pid) >= before + 8)
        terminal.run("echo", "still-mine")
        terminal.shows("still-mine", without=("q quit",))
        self.assertTrue(terminal.sane())
        terminal.keys("fg", "Enter")
        terminal.shows("q quit", "running")
        terminal.keys("C-c")
        terminal.shows("ABORTED")
        self.assertTrue(terminal.sane())

    def test_a_run_outlives_its_terminal_when_hanging_up_is_ignored(self):
        result = self.folder / "result.json"
        terminal = self.terminal(80, 24)
        terminal.run("trap '' HUP")
        terminal.run(product.binary, "run", self.url, "--duration", "3s", "--out", f"json={result}")
        terminal.shows("q quit", without=("requests 0 ",))
        pid = terminal.process()
        terminal.ask("kill-server")
        until("the result", result.exists)
        until("its end", lambda: not lives(pid))
        totals = json.loads(result.read_text(encoding="utf-8"))["totals"]
        self.assertEqual(totals["failed"], 0)

    def test_a_terminal_that_takes_nothing_holds_nothing_up(self):
        result = self.folder / "result.json"
        pid, terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
            environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
            os.execve(product.binary, [product.binary, "run", self.scenario, "--ui", "full", "--duration", "3s",
                                       "--out", f"json={result}"], environment)
        self.addCleanup(os.close, terminal)
        # Nobody reads what is drawn anew again and again: the result is there all the same.
        until("the result", lambda: os.kill(pid, signal.SIGWINCH) or result.exists())
        seen = b""
        try:
            while data := os.read(terminal, 65536):
                seen += data
        except OSError:
            pass  # its end
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), product.THRESHOLDS, "no time is that short")
        self.assertIn("THRESHOLDS", seen.decode(errors="replace"))
        self.assertLess(seen.rfind(b"\x1b[?1049l"), seen.rfind(b"THRESHOLDS"))
        self.assertIn(b"\x1b[?1049l", seen)
        run = json.loads(result.read_text(encoding="utf-8"))
        busy = {point["t"] for point in run["series"] if point["requests"] > 0}
        self.assertLessEqual({0, 1, 2}, busy, run["series"])


class OnACluster(ScreenTest, local_nodes.Test):
    def test_a_job_has_the_same_screen_with_its_workers_and_can_be_watched_by_others(self):
        self.up("--managers", "1", "--workers", "1")
        config = self.dir / "client.yaml"
        owner = self.terminal(150, 40)
        owner.run(product.binary, "run", self.scenario, "--cluster", f"'{config}'")
        screen = owner.shows("'browse' on", "'buy' on", "running", "q quit", "✗ http_req_duration",
                             without=("requests 0 ",))
        job = re.search(r"job (\w+)", screen.splitlines()[-1]).group(1)
        other = self.terminal(80, 24)
        other.run(product.binary, "job", "watch", job, "--cluster", f"'{config}'")
        other.shows("shop", "running", f"job {job}", without=("requests 0 ",))
        other.keys("q")
        other.shows("y/n Stop watching?")
        other.keys("y")
        other.shows("Stopped watching", f"bellwether job watch {job}", "\n$")
        self.assertTrue(other.sane())
        owner.keys("q")
        owner.shows("y/n Stop the job?")
        owner.keys("y")
        owner.shows("ABORTED", "the user (key q)", "\n$")
        self.assertTrue(owner.sane())


if __name__ == "__main__":
    product.main()
