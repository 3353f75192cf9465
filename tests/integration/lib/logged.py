"""A server that writes its own log, a program of its own: `logged.py KIND SEED`.

It prints its port, answers each request after a time of the kind, and writes (read at, answered at) of each in ns to
stdout when stdin closes. It takes the second time before it sends, so that the client's time of an exchange contains
the server's. Kinds: `lognormal`, `humps` (most short, some long), `stalls` (nobody is answered for 300 ms of a second).
"""

import asyncio
import random
import sys
import time

kind, draw = sys.argv[1], random.Random(int(sys.argv[2]))
BEGUN = time.monotonic()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
log = []


def seconds():
    """From now until the answer to a request."""
    if kind == "lognormal":
        return draw.lognormvariate(-4.6, 0.7)
    if kind == "humps":
        return draw.gauss(0.06, 0.005) if draw.random() < 0.15 else draw.gauss(0.008, 0.001)
    since = (time.monotonic() - BEGUN) % 1
    return 0.002 if since < 0.7 else 1 - since


class Exchange(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.read = b""

    def data_received(self, data):
        self.read += data
        if self.read.endswith(b"\r\n\r\n"):
            self.read = b""
            asyncio.get_running_loop().call_later(max(0.0, seconds()), self.answer, time.monotonic_ns())

    def answer(self, read_at):
        log.append((read_at, time.monotonic_ns()))
        self.transport.write(ANSWER)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Exchange, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
print(*(f"{read} {answered}" for read, answered in log), sep="\n")
