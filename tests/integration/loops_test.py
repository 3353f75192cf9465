#!/usr/bin/env python3
"""Loops of a policy sheet that run, take over, tell what they do, and give their locks back."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from lib import product
from lib.daemon import PATIENCE, free_port, until
from lib.redis import Redis


def sheet(redis, **loops):
    """A sheet; `loops` maps names to maps of what differs from a short loop that keeps its lock."""
    lines = [f"store: {redis.url_at(redis.port)}", "leader_election:"]
    for name, changes in loops.items():
        loop = {"poll_interval": "300ms", "lock_key": f"test:{name}", "lock_ttl": "15s", "renew_every": "0s",
                "release_mode": "ttl_hold", **changes}
        lines += [f"  {name}:", *(f"    {key}: {json.dumps(value)}" for key, value in loop.items())]
    return "\n".join(lines) + "\n"


def get(url):
    """(status, text) of a GET."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def answers(url):
    try:
        return get(url)
    except OSError:
        return None


class Loops(product.Test):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self.folder / "redis", persistence="none")
        self.redis.start()
        self.addCleanup(self.redis.stop)

    def acts(self):
        path = self.folder / "acts"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def run_loops(self, policy, *arguments):
        return self.start("loops", "run", policy, "--trust-empty", *arguments,
                          environment={"XDG_STATE_HOME": str(self.folder)})

    def quit(self, process):
        process.send_signal(signal.SIGTERM)
        run = self.finish(process)
        self.assertEqual(run.code, 0, run)
        return run

    def test_a_loop_ticks_at_its_polls_under_one_epoch_and_gives_its_lock_back(self):
        policy = self.write("p.yaml", sheet(self.redis, r={
            "command": "echo $BELLWETHER_LOOP $BELLWETHER_KEY $BELLWETHER_HOLDER $BELLWETHER_EPOCH >> acts"}))
        process = self.run_loops(policy, "--id", "me")
        until("four ticks", lambda: len(self.acts()) >= 4)
        run = self.quit(process)
        self.assertEqual({tuple(act) for act in self.acts()}, {("r", "test:r", "me", self.acts()[0][3])})
        self.assertIn("loop r: leads, epoch", run.err)
        self.assertIn("releases its lock", run.err)
        self.assertEqual(self.redis.cli("GET", "test:r").strip(), "")

    def test_the_inventory_shows_holders_times_and_how_long_guarded_data_was_idle(self):
        policy = self.write("p.yaml", sheet(self.redis, r={"command": "true", "guards": ["data", "gone"]}, s={}))
        self.redis.cli("SET", "data", "1")
        process = self.start("loops", "run", "--loop", "r", policy, "--trust-empty", "--id", "me",
                             environment={"XDG_STATE_HOME": str(self.folder)})

        def inventory():
            run = self.bellwether("loops", policy, "--json")
            self.assertEqual(run.code, 0, run)
            return {loop["loop"]: loop for loop in json.loads(run.out)["loops"]}

        until("a holder", lambda: inventory()["r"]["holder"] == "me")
        loops = inventory()
        self.assertGreater(loops["r"]["epoch"], 0)
        self.assertLessEqual(loops["r"]["valid_for_ms"], 15_000)
        self.assertFalse(loops["s"]["held"])
        self.assertEqual([guard["data"] for guard in loops["r"]["guards"]], ["data", "gone"])
        self.assertGreaterEqual(loops["r"]["guards"][0]["idle_ms"], 0)
        self.assertIn("no key", loops["r"]["guards"][1]["error"])
        table = self.bellwether("loops", policy).out
        self.assertRegex(table, r"(?m)^r +test:r +300ms +15s +never +ttl_hold +me ")
        self.assertRegex(table, r"(?m)^s .* nobody ")
        self.quit(process)

    def test_the_page_of_metrics_is_what_prometheus_reads(self):
        port = free_port()
        policy = self.write("p.yaml", sheet(self.redis, r={
            "lock_key": "a \"b\" \\ \u00e4", "command": "echo stale_jobs 7 >&$BELLWETHER_REPORT_FD; exit 3"}))
        process = self.run_loops(policy, "--metrics", f"127.0.0.1:{port}")
        base = f"http://127.0.0.1:{port}"
        until("the server", lambda: answers(base))
        until("a leader", lambda: get(f"{base}/healthz")[0] == 200)
        ticks = re.escape('bellwether_loop_ticks_total{key="a \\"b\\" \\\\ ä",loop="r"} ')
        until("two ticks", lambda: re.search(rf"(?m)^{ticks}([2-9]|\d\d)", get(f"{base}/metrics")[1]))
        _, page = get(f"{base}/metrics")
        self.assertRegex(page, r'(?m)^bellwether_leader\{.*loop="r"\} 1$')
        self.assertRegex(page, r'(?m)^stale_jobs\{.*loop="r"\} 7$')
        self.assertRegex(page, r'(?m)^bellwether_loop_tick_failures_total\{.*\} ([2-9]|\d\d)')
        checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True,
                                 check=False)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        self.assertEqual(get(f"{base}/leader?loop=r")[0], 200)
        self.assertEqual(get(f"{base}/follower")[0], 503)
        self.assertEqual(get(f"{base}/leader?loop=other")[0], 404)
        self.quit(process)

    def test_scrapers_that_are_stuck_hold_up_no_other(self):
        port = free_port()
        policy = self.write("p.yaml", sheet(self.redis, r={"command": "true"}))
        process = self.run_loops(policy, "--metrics", f"127.0.0.1:{port}")
        base = f"http://127.0.0.1:{port}"
        until("the server", lambda: answers(base))
        with contextlib.ExitStack() as stack:
            stuck = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(300)]
            for number, one in enumerate(stuck):
                with contextlib.suppress(OSError):  # those who came first have lost their connection by now
                    one.sendall((b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")[number % 3])
            self.assertEqual(get(f"{base}/metrics")[0], 200)
            open_files = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
            self.assertLess(open_files, 120)
        self.quit(process)

    def test_a_follower_is_no_leader_to_a_load_balancer(self):
        port = free_port()
        policy = self.write("p.yaml", sheet(self.redis, r={"command": "true"}))
        first = self.run_loops(policy, "--id", "first")
        until("a holder", lambda: self.redis.cli("GET", "test:r").strip() != "")
        second = self.run_loops(policy, "--id", "second", "--metrics", f"127.0.0.1:{port}")
        base = f"http://127.0.0.1:{port}"
        until("the server", lambda: answers(base))
        self.assertEqual((get(f"{base}/leader")[0], get(f"{base}/healthz")[0], get(f"{base}/follower")[0]),
                         (503, 503, 200))
        first.kill()
        until("a takeover", lambda: get(f"{base}/leader")[0] == 200)
        self.assertRegex(get(f"{base}/metrics")[1], r"(?m)^bellwether_failover_seconds\{.*\} [0-9.]+$")
        self.quit(second)

    def test_a_single_command_that_leads_has_a_page_of_metrics_too(self):
        port = free_port()
        process = self.start("lead", "--via", self.redis.url_at(self.redis.port), "--key", "k", "--trust-empty",
                             "--ttl", "9s", "--metrics", f"127.0.0.1:{port}", "--", "sleep", "1000",
                             environment={"XDG_STATE_HOME": str(self.folder)})
        base = f"http://127.0.0.1:{port}"
        until("the server", lambda: answers(base))
        until("a leader", lambda: get(f"{base}/leader?key=k")[0] == 200)
        until("a renewal", lambda: re.search(r'bellwether_lease_renew_seconds_count\{key="k"\} [1-9]',
                                             get(f"{base}/metrics")[1]))
        _, page = get(f"{base}/metrics")
        self.assertNotIn("job_lock_wait", page)
        checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True,
                                 check=False)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 143)

    def test_says_what_is_missing(self):
        policy = self.write("p.yaml", sheet(self.redis, r={}))
        self.assert_refused(self.bellwether("loops", "run", policy), "loop 'r' has no command", "--on-tick")
        self.assert_refused(self.bellwether("loops", "run", policy, "--on-tick", "x=true"), "no loop 'x'")
        self.assert_refused(self.bellwether("loops", "run", policy, "--loop", "x"), "no loop 'x'")
        self.assert_refused(self.bellwether("loops", "run", policy, "--on-tick", "r=true", "--metrics", "nowhere"),
                            "HOST:PORT")
        self.assert_refused(self.bellwether("loops"), "policy sheet")


if __name__ == "__main__":
    product.main()
