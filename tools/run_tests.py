#!/usr/bin/env python3
"""Runs the tests of a build folder and shows them on one screen.

run_tests.py BUILD [--jobs N] [--select REGEX] [--label LABEL]…

While the tests run, one line says how many have ended, which run and which have failed; on a terminal it is redrawn,
in a log it comes every half minute. The output of a test that fails is shown at once. At the end stand the tests that
were skipped, with the reason that each gives, and the slowest.

As many tests compute at a time as there are processors (RESOURCE_GROUPS of computing), beside N tests of real
processes, which wait most of the time (waiting). The longest begin first: in a build folder that has not run a test
yet, as tests/durations says.

A wrong count, a loss, a double or a crash fails the run. A test of real processes that only waited in vain for
something ("this never came"), on a machine that others use too, is run once more, alone, and the report says so.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

START = re.compile(r"^\s+Start\s+\d+: (\S+)")
END = re.compile(r"^\s*(\d+)/(\d+) Test\s+#\d+: (\S+) \.*\s*(?:[\w ]*\*\*\*)?(\w[\w :]*?)\s+([\d.]+) sec")
REASON = re.compile(r"^(?:skipped: |Skipped[:\n] *)(.*)$|skipped '(.*)'$|: Skipped\n(.*)$", re.MULTILINE)
LOG_EVERY_S = 30
SLOWEST = 5
# Of these tests, a failure that says nothing but that something did not come in time is tried once more.
OF_PROCESSES = re.compile(r"^(integration|cluster|bench)\.")
WHY = re.compile(r"^(?:\w+Error|\w+Exception|SystemExit|\w+: this never came)\b.*$", re.MULTILINE)
IN_VAIN = re.compile(r"this never came|timed out after")
NEVER_BAD_LUCK = re.compile(r"crashed|check failed|Sanitizer|safety ")
# What stands once more at the end of the screen: which case of a test failed, and by what.
CAUSE = re.compile(r"^(?:FAIL: |ERROR: |\[  FAILED  \] |.*: Failure$|.*(?:crashed|check failed|Sanitizer:))|"
                   + WHY.pattern)
CAUSES_MOST, LINE_MOST = 12, 300
AGAIN_MOST = 5
DURATIONS = Path(__file__).parents[1] / "tests/durations"


class Screen:
    def __init__(self):
        self.live = sys.stdout.isatty()
        self.started = self.said = time.monotonic()
        self.shown = False

    def say(self, text):
        if self.shown:
            print("\r\x1b[K", end="")
            self.shown = False
        print(text, flush=True)

    def status(self, run):
        now = time.monotonic()
        elapsed = int(now - self.started)
        line = f"{run.ended}/{run.total or '?'} in {elapsed // 60}:{elapsed % 60:02d}"
        line += f", {len(run.failed)} failed" if run.failed else ""
        line += f", {len(run.skipped)} skipped" if run.skipped else ""
        line += "; running " + ", ".join(sorted(run.running)) if run.running else ""
        if self.live:
            width = max(20, terminal_width() - 1)
            print("\r\x1b[K" + (line if len(line) <= width else line[: width - 1] + "…"), end="", flush=True)
            self.shown = True
        elif now - self.said >= LOG_EVERY_S:
            self.said = now
            print(line, flush=True)


def terminal_width():
    import shutil

    return shutil.get_terminal_size().columns


class Run:
    """What ctest has said so far."""

    def __init__(self):
        self.total = 0
        self.ended = 0
        self.running = set()
        self.failed = []
        self.skipped = []
        self.times = []
        self.said = {}  # of each that failed, what it said
        self.last = ""

    def line(self, text, screen):
        if match := START.match(text):
            self.running.add(match.group(1))
        elif match := END.match(text):
            ended, total, name, result, seconds = match.groups()
            self.ended, self.total = int(ended), int(total)
            self.running.discard(name)
            self.times.append((float(seconds), name))
            if result == "Skipped":
                self.skipped.append(name)
            elif result != "Passed":
                self.failed.append(name)
                self.last = name
                self.said[name] = "Timeout\n" if result == "Timeout" else ""
                screen.say(f"FAILED {name} ({result.lower()}, {seconds} s):")
        elif self.ended or not text.startswith(("Test project", "    ", "Internal ctest")):
            # With --output-on-failure, ctest prints nothing else before its summary but what failing tests said.
            if self.last:
                self.said[self.last] += text + "\n"
            return text
        return None

    def in_vain(self, name):
        """Whether this test failed only because something did not come in time."""
        why = WHY.findall(self.said[name])
        timeout = self.said[name].startswith("Timeout")
        if not OF_PROCESSES.match(name) or NEVER_BAD_LUCK.search(self.said[name]):
            return False
        return (timeout or bool(why)) and all(map(IN_VAIN.search, why))


def follow(command, run, screen, log):
    """Runs ctest, shows how far it is, and gives its exit code."""
    ctest = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    summary = False
    for line in ctest.stdout:
        log.write(line)
        text = line.rstrip("\n")
        summary = summary or bool(re.match(r"^\d+% tests passed", text))
        said = None if summary else run.line(text, screen)
        if said is None:
            screen.status(run)
        elif said.strip():
            screen.say("  " + said)
    return ctest.wait()


def places(build, waiting, computing):
    """The file that tells ctest how many tests of each kind may run at once."""
    path = build / "places.json"
    kinds = {"waiting": waiting, "computing": computing}
    path.write_text(json.dumps({"version": {"major": 1, "minor": 0}, "local": [
        {kind: [{"id": "all", "slots": count}] for kind, count in kinds.items()}]}), encoding="utf-8")
    return path


def know_durations(build):
    """Adds to ctest's record of how long tests take, by which it orders them, those that it does not know."""
    record = build / "Testing/Temporary/CTestCostData.txt"
    record.parent.mkdir(parents=True, exist_ok=True)
    measured, end, rest = (record.read_text(encoding="utf-8") if record.exists() else "").partition("---\n")
    known = {line.split()[0] for line in measured.splitlines()}
    for line in DURATIONS.read_text(encoding="utf-8").splitlines():
        name, seconds = line.split()
        if name not in known:
            measured += f"{name} 0 {seconds}\n"  # measured in none of its runs
    record.write_text(measured + (end or "---\n") + rest, encoding="utf-8")


def skip_reasons(log):
    """What each test said of what it left out: (test, reason), in the order of the log."""
    found = []
    for block in re.split(r"^-{20,}\n+(?=\d+/\d+ Testing: )", log.read_text(encoding="utf-8", errors="replace"),
                          flags=re.MULTILINE)[1:] if log.is_file() else ():
        name = block.split("Testing: ", 1)[1].split("\n", 1)[0]
        for match in REASON.finditer(block):
            reason = next((group for group in match.groups() if group), "no reason given").strip()
            if (name, reason) not in found:
                found.append((name, reason))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=4, help="how many tests of real processes run at once")
    parser.add_argument("--select", help="tests whose name matches this regular expression")
    parser.add_argument("--label", help="tests with a label that matches this regular expression")
    given = parser.parse_args()

    command = ["ctest", "--test-dir", str(given.build), "--output-on-failure", "--no-tests=error"]
    selection = ["--tests-regex", given.select] if given.select else []
    selection += ["--label-regex", given.label] if given.label else []
    computing = len(os.sched_getaffinity(0))
    at_once = ["--parallel", str(given.jobs + computing), "--resource-spec-file",
               str(places(given.build, given.jobs, computing).resolve())]
    know_durations(given.build)
    screen, run = Screen(), Run()
    with open(given.build / "last-test.log", "w", encoding="utf-8") as log:
        status = follow([*command, *at_once, *selection], run, screen, log)
        again = run.failed if status and len(run.failed) <= AGAIN_MOST and all(map(run.in_vain, run.failed)) else []
        if again:
            screen.say(f"Once more, alone, because they only waited in vain: {', '.join(again)}")
            second = Run()
            names = "|".join(map(re.escape, again))
            status = follow([*command, "--parallel", "1", "--tests-regex", f"^({names})$"], second, screen, log)
            run.failed = second.failed
            run.said |= second.said

    if run.ended == 0:
        screen.say("No test ran: ctest said what is in " + str(given.build / "last-test.log"))
        return status or 1
    skipped = skip_reasons(given.build / "Testing/Temporary/LastTest.log")
    skipped += [(name, "no reason given") for name in run.skipped if name not in {test for test, _ in skipped}]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    screen.say(f"{run.ended} tests in {int(time.monotonic() - screen.started)} s, "
               f"with {int(used.ru_utime + used.ru_stime)} s of processor time.")
    for name, reason in skipped:
        print(f"  skipped in {name}: {reason}")
    print("  slowest: " + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in
                                    sorted(run.times, reverse=True)[:SLOWEST]))
    if again and not status:
        print(f"  passed at the second try: {', '.join(again)}")
    if status:
        for name in run.failed:
            causes = [line for line in run.said[name].splitlines() if CAUSE.search(line)]
            for line in causes[:CAUSES_MOST]:
                print(f"  {name}: {line[:LINE_MOST]}")
        print(f"Failed: {', '.join(run.failed) or 'see above'}. The whole output is in {given.build}/last-test.log.")
    else:
        print(f"{run.ended - len(run.skipped)} passed, 0 failed" +
              (f", {len(run.skipped)} skipped" if run.skipped else ""))
    return status


if __name__ == "__main__":
    sys.exit(main())
