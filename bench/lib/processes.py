"""Child processes: pinned to a processor, measured, and ended by their pid."""

import contextlib
import dataclasses
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

QUICK = "--quick" in sys.argv
TICKS = os.sysconf("SC_CLK_TCK")
PROCESSORS = sorted(os.sched_getaffinity(0))
# One each; where there is one only, both run on it, and a report says so.
SERVER_CPU, GENERATOR_CPU = PROCESSORS[0], (PROCESSORS * 2)[1]


class Failure(Exception):
    """Why a comparison cannot be made or may not be believed, in words for whoever started it."""


@dataclasses.dataclass
class Finished:
    """A child that has ended. CPU time is of the whole process, its start included."""
    code: int
    wall_s: float
    user_s: float
    sys_s: float
    stdout: str
    stderr: str


def allow_descriptors(number):
    """Lets this process and its children open so many descriptors, which beyond the hard limit takes a privilege."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= number:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, max(number, hard)))
    except (OSError, ValueError) as error:
        raise Failure(f"this needs {number} descriptors, and a process may have {hard} here: ulimit -n {number} as "
                      "root, or fewer virtual users") from error


def leashed(command):
    """The same command, whose process ends with the thread that starts it: with this program, even a killed one."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)]


@contextlib.contextmanager
def pinned(cpu):
    """Children started inside run on this processor only (None: wherever they like)."""
    if cpu is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run(command, limit_s, cpu=None, env=None):
    """Runs a command to its end and measures it. Longer than limit_s is a Failure."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.monotonic()
        with pinned(cpu):
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     env={**os.environ, **(env or {})})
        expired = threading.Event()
        timer = threading.Timer(limit_s, lambda: (expired.set(), child.kill()))
        timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            timer.cancel()
        wall_s = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        finished = Finished(child.returncode, wall_s, usage.ru_utime, usage.ru_stime, out.read(), err.read())
    if expired.is_set():
        raise Failure(f"not finished after {limit_s:.0f} s, killed: {' '.join(command)}")
    return finished


class Background:
    """A child that runs while something else is done: `with Background(…) as child:`. It is ended at the end."""

    def __init__(self, command, cpu=None):
        self.command = [*map(str, command)]
        self.cpu = cpu

    def __enter__(self):
        self.output = tempfile.TemporaryFile("w+")
        with pinned(self.cpu):
            # In a session of its own: Ctrl-C is for the one who compares, and this child is ended by its pid.
            self.child = subprocess.Popen(leashed(self.command), stdin=subprocess.DEVNULL, stdout=self.output,
                                          stderr=subprocess.STDOUT, start_new_session=True)
        return self

    def __exit__(self, *_):
        self.end()
        self.output.close()

    def end(self, by=signal.SIGTERM):
        """Ends the child. Returns what it wrote."""
        if self.child.poll() is None:
            self.child.send_signal(by)
            try:
                self.child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.output.seek(0)
        return self.output.read()

    def alive(self):
        return self.child.poll() is None

    def cpu_s(self):
        return cpu_s(self.child.pid)

    def memory_kib(self, *names):
        """The figures of these names in /proc/PID/status, such as VmRSS."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{self.child.pid}/status").read_text().splitlines())
        if "VmRSS" not in status:
            raise Failure(f"{' '.join(self.command)} has ended: {self.end().strip()}")
        return [int(status[name].split()[0]) for name in names]

    def wait_for_port(self, port, limit_s=120):
        deadline = time.monotonic() + limit_s
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return
            if not self.alive() or time.monotonic() > deadline:
                raise Failure(f"{' '.join(self.command)} does not listen on port {port}: {self.end().strip()}")
            time.sleep(0.02)


def cpu_s(pid):
    """User and system time of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def machine_busy_s():
    """CPU time that all processors have spent on anything so far."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, softirq, *_ = (int(field) for field in stat.readline().split()[1:])
    return (user + nice + system + irq + softirq) / TICKS
