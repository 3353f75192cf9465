"""`bellwether lead` as tests run it: candidates, what they say, and commands that write down what they do."""

import contextlib
import json
import os
import struct
import subprocess
import threading
import time
from pathlib import Path

from . import product
from .daemon import PATIENCE, destroy, until

RECORDER = ["python3", "-I", "-S", str(Path(__file__).with_name("recorder.py"))]
ACT = struct.Struct("=qq")


def children(pid):
    """The processes that any thread of this one has started."""
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Candidate:
    """One process of `bellwether lead --json`. `events`: what it has said so far, parsed; `at` is when it came."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid
        self.events = []
        self.out = ""
        self.broken = []  # lines that are not JSON
        self.over = 0
        self.changed = threading.Condition()
        for reader in (self.read_events, self.read_output):
            threading.Thread(target=reader, daemon=True).start()

    def read_events(self):
        for line in self.process.stderr:
            with self.changed:
                try:
                    self.events.append({**json.loads(line), "at": boot_ns()})
                except ValueError:
                    self.broken.append(line)
                self.changed.notify_all()
        self.ended()

    def read_output(self):
        for line in self.process.stdout:
            with self.changed:
                self.out += line
                self.changed.notify_all()
        self.ended()

    def ended(self):
        with self.changed:
            self.over += 1
            self.changed.notify_all()

    def wait_until(self, condition, what, seconds=PATIENCE):
        """Until condition() is true, which is asked whenever this candidate or its command has said something."""
        with self.changed:
            self.changed.wait_for(lambda: self.over == 2 or condition(), seconds)
            answer = condition()
        if not answer:
            raise AssertionError(f"this never came: {what}; what came:\n{self}")
        return answer

    def all(self, event):
        return [one for one in self.events if one["event"] == event]

    def wait_for(self, event, after=0, text="", seconds=PATIENCE):
        """The first such event with this text that came later than `after` (ns of the boot clock)."""
        def found():
            return next((one for one in self.events
                         if one["event"] == event and one["at"] > after and text in one["text"]), None)
        return self.wait_until(found, f"{event} '{text}'", seconds)

    def says(self, text, seconds=PATIENCE):
        """Waits for this on its standard output."""
        return self.wait_until(lambda: text in self.out, f"'{text}' on standard output", seconds)

    def elected(self, after=0, seconds=PATIENCE):
        return self.wait_for("elected", after, seconds=seconds)

    def runs(self):
        return self.process.poll() is None

    def find_guardian(self):
        for pid in children(self.pid):
            with contextlib.suppress(OSError):
                if b"\0lead-guardian\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
        return None

    @property
    def guardian(self):
        """The guardian's process id, as soon as there is one."""
        return until("the guardian", self.find_guardian)

    @property
    def command(self):
        """The command's process id, as soon as it runs."""
        return until("the command", lambda: next(iter(children(self.guardian)), None))

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=PATIENCE):
        """Its exit code, when it has ended by itself."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end:\n{self}") from None
        with self.changed:
            self.changed.wait_for(lambda: self.over == 2, 30)
        return code

    def __str__(self):
        said = [f"{one['at'] / 1e6:.1f} {one['event']}: {one['text']}" for one in self.events]
        return "\n".join([*said, *self.broken, "--- stdout ---", self.out])


class Test(product.Test):
    """Tests of `bellwether lead`. State goes to the test's folder; nothing that a candidate began outlives the test."""

    def environment(self):
        return {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state")}

    @property
    def flock(self):
        return f"flock:{self.folder / 'locks'}"

    default_ttl = "20s"  # a busy machine renews such a lease; shorter where its end is waited for

    def arguments(self, *options, via=None, key="key", ttl=None):
        """The command line before '--'."""
        return ["lead", "--via", via or self.flock, "--key", key, "--ttl", ttl or self.default_ttl, *options]

    def lead(self, *options, command=("sleep", "1000"), environment=None, stdin=subprocess.DEVNULL, **more):
        """Starts a candidate."""
        words = [product.binary, *self.arguments(*options, "--json", "-v", **more)]
        words += ["--", *command] if command else []
        return self.launch(words, stdin, environment)

    def launch(self, words, stdin=subprocess.DEVNULL, environment=None):
        """A candidate that was started with these words."""
        process = subprocess.Popen(list(map(str, words)), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors="surrogateescape", cwd=self.folder,
                                   env={**os.environ, **self.environment(), **(environment or {})})
        candidate = Candidate(process)
        self.addCleanup(end, candidate)
        return candidate

    def leads(self, *options, command=("sleep", "1000"), **more):
        """Starts a candidate and waits until its command runs."""
        candidate = self.lead(*options, command=command, **more)
        candidate.elected()
        until("its command", lambda: candidate.command)
        return candidate

    def run_lead(self, *options, command=("true",), environment=None, **more):
        """Runs a candidate to its end."""
        return self.bellwether(*self.arguments(*options, **more), *(["--", *command] if command else []),
                               environment={**self.environment(), **(environment or {})})


def end(candidate):
    """Ends a candidate as hard as it can be done, with all that it began, stopped or not."""
    if candidate.runs():
        destroy(candidate.pid)
    candidate.process.wait()
    for stream in (candidate.process.stdout, candidate.process.stderr):
        stream.close()


def acts(file):
    """What recorders wrote: (epoch, boot ns) in the order of the acts."""
    try:
        data = Path(file).read_bytes()
    except FileNotFoundError:
        return []
    return [ACT.unpack_from(data, at) for at in range(0, len(data) - ACT.size + 1, ACT.size)]


def overlaps(history):
    """The acts of a term that came after the first act of a later one: there must be none."""
    found, highest = [], 0
    for epoch, at in history:
        if epoch < highest:
            found.append((epoch, highest, at))
        highest = max(highest, epoch)
    return found
