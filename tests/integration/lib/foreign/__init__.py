"""Programs that elect a leader as other products do, written for the tests from the rules of those; and how to run one.

Each is one file, runs alone, and shares nothing with the product nor with its tests. Their --help says how they speak.
"""

import signal
import subprocess
import sys
import threading
from pathlib import Path

from ..daemon import PATIENCE


class Foreign:
    """One running program of this folder. It prints a line at each change: a word, a time, and perhaps more."""

    def __init__(self, program, *arguments):
        file = Path(__file__).parent / f"{program}.py"
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", sys.executable, "-B", file, *map(str, arguments)], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines = []
        self.changed = threading.Condition()
        self.over = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.split())
                self.changed.notify_all()
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def said(self, word):
        """The lines that begin with this word, each as (nanoseconds of CLOCK_BOOTTIME, the words after it)."""
        with self.changed:
            return [(int(line[1]), line[2:]) for line in self.lines if line[:1] == [word]]

    def wait_for(self, word, count=1):
        """Waits until it has said this word so often; gives the last of these lines as said() does."""
        with self.changed:
            self.changed.wait_for(lambda: self.over or len(self.said(word)) >= count, PATIENCE)
            if len(self.said(word)) < count:
                raise AssertionError(f"it did not say '{word}' {count} times, but: {self.lines}")
            return self.said(word)[count - 1]

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        """Asks it to end (SIGTERM), as a service manager does; gives its exit code."""
        self.process.terminate()
        return self.finish()

    def crash(self):
        self.process.kill()
        self.finish()

    def finish(self):
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        if not self.process.stdout.closed:
            self.finish()
