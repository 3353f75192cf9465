"""When the whole machine stood still: nobody can keep a promise about a time that passed meanwhile."""

import threading

from .leading import boot_ns


class Stalls:
    """Watches from its making on. `spans`: (from, to) on the boot clock, for longer than LONG_NS."""

    LONG_NS = 100_000_000

    def __init__(self):
        self.spans = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        before = boot_ns()
        while not self.over.wait(0.01):
            now = boot_ns()
            if now - before > self.LONG_NS:
                self.spans.append((before, now))
            before = now

    def around(self, at, margin_ns=500_000_000):
        return any(begin - margin_ns < at < end + margin_ns for begin, end in self.spans)

    def end(self):
        self.over.set()
        self.thread.join()
