#!/usr/bin/env python3
"""An orchestrator that leads by a lease in a JSON file, in the plain way of existing ones, for interoperation tests.

It has their weaknesses on purpose: no lock, the other's clock is believed, what cannot be read counts as missing, a
missing file begins again at epoch 1, and it writes its four fields and drops all others. With --torn-ms others see
halves of its writes, without it never.

Prints `leader NS EPOCH` or `follower NS EPOCH` at each change; NS: nanoseconds of CLOCK_BOOTTIME.
"""

import argparse
import datetime
import json
import os
import signal
import sys
import threading
import time


class Orchestrator:
    def __init__(self, options):
        self.file = options.file
        self.id = options.id
        self.ttl_ms = options.ttl_ms
        self.torn_ms = options.torn_ms
        self.epoch = 0
        self.leads = None

    def read(self):
        try:
            with open(self.file, encoding="utf-8") as file:
                lease = json.load(file)
            age = time.time() - datetime.datetime.fromisoformat(lease["last_heartbeat"]).timestamp()
            return {"id": lease["leader_id"], "epoch": int(lease["leader_epoch"]),
                    "expired": age * 1000 > lease["ttl_ms"]}
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        text = json.dumps({"leader_id": self.id, "leader_epoch": self.epoch,
                           "last_heartbeat": now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z",
                           "ttl_ms": self.ttl_ms}, indent=2)
        os.makedirs(os.path.dirname(os.path.abspath(self.file)), exist_ok=True)
        if not self.torn_ms:
            whole = f"{self.file}.{self.id}"
            with open(whole, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(whole, self.file)
            return
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text[:len(text) // 2])
            file.flush()
            time.sleep(self.torn_ms / 1000)  # a reader sees half of it meanwhile
            file.write(text[len(text) // 2:])

    def beat(self):
        """One look at the file: refreshes an own lease, takes one that is missing or expired, or follows."""
        lease = self.read()
        if self.leads and (lease is None or lease["id"] == self.id):
            self.write()
        elif lease is None or lease["expired"] or lease["id"] == self.id:
            self.epoch = (lease["epoch"] if lease else 0) + 1
            self.write()
            self.become(True)
        else:
            self.epoch = lease["epoch"]
            self.become(False)

    def become(self, leads):
        if leads != self.leads:
            self.leads = leads
            print("leader" if leads else "follower", time.clock_gettime_ns(time.CLOCK_BOOTTIME), self.epoch,
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", default="memory/orchestrator-state.json")
    parser.add_argument("--id", default=f"agent-{time.time_ns() // 10**6}-{os.getpid():x}")
    parser.add_argument("--ttl-ms", type=int, default=180_000)
    parser.add_argument("--heartbeat-ms", type=int, default=60_000)
    parser.add_argument("--torn-ms", type=int, default=0, help="time between the two halves of a write")
    parser.add_argument("--once", action="store_true", help="look once; exit code 1: follower")
    parser.add_argument("--exit-if-follower", action="store_true", help="exit with 0 when there is a healthy leader")
    options = parser.parse_args()
    orchestrator = Orchestrator(options)
    end = threading.Event()
    # On a thread of its own: the signal may come while this one holds the lock of the event.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=end.set).start())
    while not end.is_set():
        orchestrator.beat()
        if options.once:
            return 0 if orchestrator.leads else 1
        if options.exit_if_follower and not orchestrator.leads:
            return 0
        end.wait(options.heartbeat_ms / 1000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
