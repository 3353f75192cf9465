"""Runs the built command, and holds every result file it writes to what must be true of any result."""

import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import jsonschema

from .patience import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs/formats/result.schema.json").read_text(encoding="utf-8"))

PASS, THRESHOLDS, WRONG, SIGNAL, ABORT, ALL_FAILED, SCHEDULE, SATURATED, NO_SAMPLES, NOT_WRITTEN = (
    0, 99, 104, 105, 108, 110, 121, 122, 123, 124)

binary = None  # the command's path; main() sets it


class Run:
    """One finished run of the command. `result`: the parsed result file, when one was asked for and written."""

    def __init__(self, code, out, err, result=None):
        self.code = code
        self.out = out
        self.err = err
        self.result = result

    def __str__(self):
        return f"exit code {self.code}\n--- stdout ---\n{self.out}\n--- stderr ---\n{self.err}"

    @property
    def totals(self):
        return self.result["totals"]

    @property
    def events(self):
        """What happened, in its order. A generator that says that its machine is busy is right where that is so."""
        return [event for event in self.result["events"] if event["kind"] != "generator_saturated"]

    @property
    def errors(self):
        """Failures of all steps by kind."""
        sum_of = collections.Counter()
        for step in self.result["steps"].values():
            sum_of.update(step["errors"])
        return dict(sum_of)

    @property
    def statuses(self):
        sum_of = collections.Counter()
        for step in self.result["steps"].values():
            sum_of.update({int(status): count for status, count in step["status"].items()})
        return dict(sum_of)

    @property
    def checks(self):
        """(passes, fails) by the check's name."""
        return {check["name"]: (check["passes"], check["fails"]) for check in self.result["checks"]}


class Test(unittest.TestCase):
    """A test with a folder of its own and the command at hand."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bellwether-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def start(self, *arguments, environment=None, **more):
        # Runs and known clusters are those of the folder of the test, not those of the user.
        environment = {"XDG_DATA_HOME": str(self.folder / "data"), "XDG_CONFIG_HOME": str(self.folder / "config"),
                       "BELLWETHER_CLUSTER": "", **(environment or {})}
        process = subprocess.Popen(
            [binary, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", env={**os.environ, **environment}, cwd=more.pop("cwd", self.folder),
            **more)
        self.addCleanup(end, process)
        return process

    def finish(self, process, result_file=None):
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f"the command did not end:\n{out}\n{err}")
        result = None
        if result_file and Path(result_file).exists():
            result = json.loads(Path(result_file).read_text(encoding="utf-8"))
        run = Run(process.returncode, out, err, result)
        self.assertGreaterEqual(run.code, 0, f"the command crashed\n{run}")
        self.assertNotIn("Sanitizer", run.err)
        return run

    def bellwether(self, *arguments, **more):
        """Runs the command with these arguments to its end."""
        return self.finish(self.start(*arguments, **more))

    def load(self, what, *arguments, code=PASS, **more):
        """`bellwether run`: `what` is a URL, a Path, or the text of a scenario. The result must be sound."""
        file = self.folder / "result.json"
        file.unlink(missing_ok=True)
        run = self.finish(self.start("run", self.named(what), "--ui", "none", "--out", f"json={file}", *arguments,
                                     **more), file)
        self.assert_sound(run)
        codes = code if isinstance(code, (tuple, list, set)) else (code,)
        self.assertIn(run.code, codes, run)
        return run

    def named(self, what):
        """What to write on the command line for a URL, a Path, or the text of a scenario."""
        if isinstance(what, Path):
            return what
        if "\n" not in what and "://" in what:
            return what
        return self.write("scenario.yaml", what)

    def assert_sound(self, run):
        """What must hold in any result file, whatever happened."""
        self.assertIsNotNone(run.result, f"there is no result file\n{run}")
        jsonschema.Draft202012Validator(SCHEMA).validate(run.result)
        result, totals = run.result, run.totals
        self.assertEqual(result["run"]["exit_code"], run.code, run)
        self.assertIn(f"(exit code {run.code})", " ".join(run.out.split()))
        steps = result["steps"].values()
        for total, member in (("requests", "count"), ("failed", "failed"), ("repeated", "repeated"),
                              ("bytes_sent", "bytes_sent"), ("bytes_received", "bytes_received")):
            self.assertEqual(sum(step[member] for step in steps), totals[total], f"{total}: {result['steps']}")
        for name, step in result["steps"].items():
            answered, lost = sum(step["status"].values()), sum(step["errors"].values())
            self.assertEqual(answered + lost, step["count"], f"{name}: every request has a status or an error")
            self.assertGreaterEqual(step["failed"], lost, name)
            order = ("min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max")
            for times in filter(None, (step["service_ms"], step["response_ms"])):
                counted = [times.get(kind, {"buckets": []}) for kind in ("histogram", "unanswered", "unfinished")]
                self.assertEqual(sum(count for one in counted for _, count in one["buckets"]), times["count"], name)
                figures = [times[key] for key in order]
                self.assertEqual(figures, sorted(figures), name)
            self.assertEqual((step["service_ms"] or {"count": 0})["count"], answered, name)
            self.assertEqual(step["unanswered"], lost - step["errors"].get("interrupted", 0), name)
            for key in (*order[1:], "mean") if answered else ():
                self.assertGreaterEqual(step["response_ms"][key], step["service_ms"][key], f"{name}: {key}")
        for total, member in (("requests", "requests"), ("failed", "failed"), ("iterations", "iterations"),
                              ("dropped_iterations", "dropped")):
            self.assertEqual(sum(point[member] for point in result["series"]), totals[total], f"series of {total}")
        counts = [workflow["iterations"] for workflow in result["workflows"]]
        for total, member in (("iterations", "completed"), ("dropped_iterations", "dropped"),
                              ("scheduled_iterations", "scheduled")):
            self.assertEqual(sum(count[member] for count in counts), totals[total], total)
        for count in counts:
            if count["scheduled"]:
                self.assertEqual(count["on_time"] + count["late"] + count["dropped"], count["scheduled"], count)
                self.assertEqual(count["completed"] + count["interrupted"], count["on_time"] + count["late"], count)
        metrics = result["metrics"]
        self.assertEqual(metrics["http_reqs"]["count"], totals["requests"])
        self.assertEqual(metrics["http_req_failed"]["matches"], totals["failed"])
        self.assertEqual(metrics["iterations"]["count"], totals["iterations"])
        self.assertEqual(metrics["checks"]["matches"], sum(check["passes"] for check in result["checks"]))

    def assert_refused(self, run, *words):
        """Exit code 104, and a message with all these words; nothing on stdout that looks like a result."""
        self.assertEqual(run.code, WRONG, run)
        for word in words:
            self.assertIn(word, run.err)
        self.assertNotIn("REQUESTS", run.out)


def end(process):
    if process.poll() is None:
        process.kill()
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


def interrupt(process):
    process.send_signal(signal.SIGINT)


class Reader(threading.Thread):
    """Collects the lines of a stream; wait_for() returns when one contains a text."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream = stream
        self.lines = []
        self.changed = threading.Condition()
        self.over = False
        self.start()

    def run(self):
        for line in self.stream:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def wait_for(self, text, seconds=PATIENCE):
        with self.changed:
            self.changed.wait_for(lambda: self.over or any(text in line for line in self.lines), seconds)
            for line in self.lines:
                if text in line:
                    return line
            raise AssertionError(f"'{text}' never came; what came: {''.join(self.lines)}")


def main():
    """Runs the tests of the file that calls this. The command's path is its first argument."""
    global binary
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} PATH-OF-BELLWETHER [unittest's arguments]")
    binary = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
