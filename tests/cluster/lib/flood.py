"""Sends one node what nobody of its cluster would, as fast as it can, until it is killed:

    python3 -B flood.py udp ADDRESS PORT FILE    the datagrams of a file, a line of hexadecimal digits each, in turn
    python3 -B flood.py tcp ADDRESS PORT FILE    connections that say a line of the file; every fourth says no more then
"""

import contextlib
import itertools
import socket
import struct
import sys
from pathlib import Path

KEPT = 200  # connections that are left open


def datagrams(target, texts):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(target)
        for text in itertools.cycle(texts):
            with contextlib.suppress(OSError):  # its queue is full
                out.send(text)


def connections(target, texts):
    kept = []
    for number, text in enumerate(itertools.cycle(texts)):
        with contextlib.suppress(OSError):
            one = socket.create_connection(target, timeout=1)
            # A reset at the end, so that the ports of this side do not run out.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.sendall(text)
            if number % 4 == 0:
                kept.append(one)
            else:
                one.close()
            if len(kept) > KEPT:
                kept.pop(0).close()


if __name__ == "__main__":
    kind, address, port, file = sys.argv[1:]
    lines = [bytes.fromhex(line) for line in Path(file).read_text().split()]
    {"udp": datagrams, "tcp": connections}[kind]((address, int(port)), lines)
