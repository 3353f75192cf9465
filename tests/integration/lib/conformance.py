"""Runs the behaviours that every store must show against a real server, and does to the server what they ask for."""

import re
import subprocess
import threading

from . import product
from .cut import Cut

PATIENCE = 900  # seconds, for all behaviours together


class Served:
    """A server behind a cut, as the behaviours see it. A subclass says what foreign programs do.

    `refuse` names what cannot be done to this server.
    """

    def __init__(self, server, refuse=()):
        self.server = server
        self.cut = Cut(server)
        self.refuse = refuse

    @property
    def url(self):
        return self.server.url_at(self.cut.port)

    def obey(self, command):
        """Whether it could be done."""
        word, *words = command.split(" ", 1)
        action = getattr(self, word.replace("-", "_"), None)
        if word in self.refuse or action is None:
            return False
        return action(*words) is not False

    def pause(self):
        self.server.pause()

    def resume(self):
        self.server.resume()

    def blackhole(self):
        self.cut.black(drop=True)

    def open(self):
        self.cut.open()

    def reset(self):
        self.cut.reset()

    def stop(self):
        self.server.stop()

    def start(self):
        self.server.start()

    def restart(self):
        self.server.restart()

    def lose(self):
        self.server.restart(lose_data=True)

    def foreign_hold(self, key):
        """A foreign program takes a key that the server does not give to anybody else meanwhile."""
        return hasattr(self, "foreign_take") and self.foreign_take(key)

    def close(self):
        self.cut.close()


def conformance(test, served, filter="*"):
    """All behaviours must hold; gives how many did and which were skipped."""
    process = subprocess.Popen([product.binary, "--url", served.url, "--control", f"--gtest_filter={filter}"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    lines = []
    failed = []  # what could not be done to the server although it can be done
    try:
        for line in process.stdout:
            if line.startswith("@"):
                command = line[1:].rstrip("\n")
                try:
                    done = served.obey(command)
                except Exception as error:
                    done = False
                    failed.append(f"{command}: {error}\n")
                process.stdin.write("ok\n" if done else "no\n")
                process.stdin.flush()
            else:
                lines.append(line)
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    text = "".join(lines + failed)
    passed = re.search(r"\[  PASSED  \] (\d+) test", text)
    test.assertTrue(passed and process.returncode == 0 and "FAILED" not in text and not failed, text)
    return int(passed[1]), sorted(set(re.findall(r"\[  SKIPPED \] (\w+\.\w+)", text)))


def probe(url, key="probe", environment=None):
    """What a look and a take come to, a line each: "look: timeout: …"."""
    done = subprocess.run([product.binary, "--url", url, "--probe", key], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=PATIENCE, env=environment)
    return done.stdout + done.stderr
