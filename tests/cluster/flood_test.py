#!/usr/bin/env python3
"""Garbage at line rate: a node is sent what strangers can make or overhear, and its cluster does not notice."""

import hashlib
import os
import random
import re
import socket
import sys
from pathlib import Path

from lib import nodes
from lib.world import PATIENCE, until

DATAGRAM, HELLO, CHALLENGE = 1, 2, 5
ALL_PROTOCOLS = 3  # of a packet socket, in network order
FLOOD = Path(__file__).parent / "lib/flood.py"
MEBIBYTE = 1 << 20


def hashed(*names):
    return hashlib.sha256(b"\0".join(name.encode() for name in names)).digest()[:8]


class Garbage:
    """Datagrams and first frames that are wrong in each way that costs their receiver something."""

    def __init__(self, key_id, seed=1):
        self.random = random.Random(seed)
        self.key_id = key_id

    def envelope(self, kind, sender, cluster=("flock", "default"), key=None):
        """One whose header is as it should be; its text does not open."""
        return (bytes([1, kind]) + (key or self.key_id) + hashed(*cluster) + hashed(sender) +
                self.random.randbytes(16) + bytes(7) + b"\1" + self.random.randbytes(8) +
                self.random.randbytes(self.random.randrange(16, 200)))

    def datagrams(self, overheard):
        out = []
        for _ in range(400):
            out += [self.random.randbytes(self.random.randrange(0, 1500)),
                    bytes([1]) + self.random.randbytes(self.random.randrange(60, 1300)),
                    self.envelope(DATAGRAM, "b"), self.envelope(DATAGRAM, "nobody"), self.envelope(CHALLENGE, "b"),
                    self.envelope(DATAGRAM, "b", key=self.random.randbytes(4)),
                    self.envelope(DATAGRAM, "b", cluster=("herd", "default")), self.random.choice(overheard)]
        return out

    def frames(self):
        hello = self.envelope(HELLO, "b")
        return [b"PING", b"PIN", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + self.random.randbytes(300), bytes(4),
                b"\x7f\xff\xff\xff", b"\0\0\x0f\xff" + self.random.randbytes(100),
                len(hello).to_bytes(4, "big") + hello, self.random.randbytes(3000)]


def overhear(node, count):
    """Datagrams that other nodes have sent to this one, as anybody on the way could take them down."""
    with node.visit():
        ear = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PROTOCOLS))
    heard = []
    with ear:
        ear.settimeout(PATIENCE)
        while len(heard) < count:
            packet, sender = ear.recvfrom(2048)
            own = socket.inet_aton(node.ipv4)
            ip_header = (packet[0] & 15) * 4
            if packet[9] == socket.IPPROTO_UDP and packet[16:20] == own and sender[2] != socket.PACKET_OUTGOING:
                heard.append(packet[ip_header + 8:])
    return heard


def resident(process):
    """Bytes of memory that a process uses."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


class Flood(nodes.Test):
    def test_garbage_at_line_rate_is_refused_and_nobody_else_notices(self):
        cluster = self.cluster(3, workers=1)
        strangers = [cluster.world.add("x"), cluster.world.add("y")]
        # A sanitizer keeps what is freed; the memory that is looked at here is to be the node's.
        sanitizer = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"}
        cluster.environments = dict.fromkeys(cluster.names, sanitizer)
        cluster.start()
        leader = cluster.settled()
        victim = leader[0]
        key_id = bytes.fromhex(cluster.ask(victim, "keys", "list")["keys"][0])
        garbage = Garbage(key_id)
        texts = {"udp": garbage.datagrams(overhear(cluster.world[victim], 20)), "tcp": garbage.frames()}
        before = resident(cluster.running[victim])
        changes = {name: cluster.changes(name) for name in cluster.names}

        floods = []
        for stranger, (kind, lines) in zip(strangers, texts.items()):
            file = cluster.folder / f"{kind}.hex"
            file.write_text("\n".join(line.hex() for line in lines if line))
            floods.append(stranger.start(sys.executable, "-B", FLOOD, kind, cluster.world[victim].ipv4, 9000, file))
        wanted = {"rate_limited": 100_000, "unknown_key": 50_000, "cluster": 50_000, "replayed": 10_000,
                  "format": 10_000, "forged": 1_000, "truncated": 100}

        def refused():
            return {labels["reason"]: count for labels, count in
                    cluster.samples(victim, "bellwether_refused_total")}
        until(lambda: f"the garbage; {refused()}", lambda: all(refused().get(reason, 0) >= count
                                                               for reason, count in wanted.items()))
        # While it goes on: all are there, and one leads. One may be suspected, for its answers drown among the garbage;
        # it is heard before that becomes a verdict.
        for name in cluster.names:
            seen = cluster.members(name)
            self.assertEqual((sorted(seen), set(seen.values()) - {"alive", "suspect"}), (cluster.names, set()), name)
        self.assertEqual(cluster.agreed(), leader)
        for flood in floods:
            self.assertTrue(flood.alive(), flood.tail())
            flood.kill()

        self.assertEqual({name: cluster.changes(name) for name in cluster.names}, changes)
        for name in cluster.names:
            self.assertIsNone(cluster.metric(name, 'bellwether_member_changes_total{change="died"}'), name)
        self.assertLess(resident(cluster.running[victim]), 2 * before + 64 * MEBIBYTE)
        # It tells of each reason once a second at most.
        told = [line for line in cluster.said(victim, "warning") if re.search(r"refused \w+ from", line["text"])]
        self.assertLess(len(told), sum(refused().values()) / 100)
        until("a node that has nothing to do again",
              lambda: (cluster.metric(victim, "bellwether_health_score") == 0 and
                       cluster.metric(victim, "bellwether_degradation") == 0 and
                       cluster.metric(victim, "bellwether_cpu_ratio") < 0.2))
        self.assertEqual(cluster.agreed(), leader)


if __name__ == "__main__":
    nodes.main()
