#!/usr/bin/env python3
"""An instance that elects itself by the rules of NIP-LE, written from their text alone, for tests of interoperation.

One lock file a key, `<dir>/<key>.lock`: JSON with instance_id, pid and claimed_at. Whoever reads decides: absent, own,
malformed or unreadable means leader, foreign means observer. Each refresh claims the lock if it may be taken (free,
ours, of a dead process, or older than two refreshes), under an exclusive flock, and then reads. SIGTERM releases.

Prints `leader NS` or `observer NS` at each change; NS: nanoseconds of CLOCK_BOOTTIME.
"""

import argparse
import datetime
import fcntl
import json
import os
import signal
import sys
import threading
import time


class Lock:
    def __init__(self, folder, key, id, refresh):
        self.folder = folder
        self.path = os.path.join(folder, f"{key}.lock")
        self.id = id
        self.stale = 2 * refresh  # seconds

    def acquire(self):
        """Claims the lock if it may be taken. A failure is no error: the next read decides."""
        try:
            os.makedirs(self.folder, exist_ok=True)
            with open(self.path, "a+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                if self.takeable(claim_of(file.read())):
                    self.write(file)
        except OSError:
            pass

    def takeable(self, claim):
        if claim is None or claim["instance_id"] == self.id or is_dead(claim["pid"]):
            return True
        age = datetime.datetime.now(datetime.timezone.utc) - claim["claimed_at"]
        return age.total_seconds() > self.stale

    def write(self, file):
        now = time.time_ns()
        second = datetime.datetime.fromtimestamp(now // 10**9, datetime.timezone.utc)
        claim = {"instance_id": self.id, "pid": os.getpid(),
                 "claimed_at": f"{second:%Y-%m-%dT%H:%M:%S}.{now % 10**9:09d}+00:00"}
        file.seek(0)
        file.truncate()
        file.write(json.dumps(claim))
        file.flush()

    def leads(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                claim = claim_of(file.read())
        except OSError:
            return True
        return claim is None or claim["instance_id"] == self.id

    def release(self):
        """Empties the file if it is still ours; it stays where it is."""
        try:
            with open(self.path, "r+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                claim = claim_of(file.read())
                if claim and claim["instance_id"] == self.id:
                    file.truncate(0)
        except OSError:
            pass


def claim_of(text):
    """The claim that a lock file holds, or None when it holds none that can be read."""
    try:
        claim = json.loads(text)
        at = datetime.datetime.fromisoformat(claim["claimed_at"])
        if not isinstance(claim["instance_id"], str) or not isinstance(claim["pid"], int) or at.tzinfo is None:
            return None
        return {**claim, "claimed_at": at}
    except (ValueError, KeyError, TypeError):
        return None


def is_dead(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # such as "not permitted": it lives
    return False


def say(state):
    print(state, time.clock_gettime_ns(time.CLOCK_BOOTTIME), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default=os.path.expanduser("~/.buzz/leader-locks"))
    parser.add_argument("--key", required=True)
    parser.add_argument("--refresh", type=float, default=5, help="seconds")
    parser.add_argument("--id", default=os.environ.get("BUZZ_INSTANCE_ELECTION_ID"))
    parser.add_argument("--once-acquire", action="store_true",
                        help="claim once, print the state and exit without a release; exit code 1: observer")
    options = parser.parse_args()
    lock = Lock(options.dir, options.key, options.id or f"{os.getpid()}-{time.time_ns()}", options.refresh)
    if options.once_acquire:
        lock.acquire()
        led = lock.leads()
        say("leader" if led else "observer")
        return 0 if led else 1
    end = threading.Event()
    # On a thread of its own: the signal may come while this one holds the lock of the event.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=end.set).start())
    led = None
    while not end.is_set():
        lock.acquire()
        before, led = led, lock.leads()
        if led != before:
            say("leader" if led else "observer")
        end.wait(options.refresh)
    lock.release()
    return 0


if __name__ == "__main__":
    sys.exit(main())
