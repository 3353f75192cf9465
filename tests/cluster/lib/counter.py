"""A target that counts: python3 -B counter.py ADDRESS PORT. It shares no code with the product.

It counts each request and answers it, `GET /slow` and `GET /row/NUMBER` after 50 ms, and never closes a connection.
`GET /count` does not count: its answer is {"requests": how many came, "open": connections with a request, "busiest":
most at once, "rows": different numbers of rows, "twice": how many came again, "last": the 100 last ones}. `GET /forget`
forgets the rows.
"""

import asyncio
import json
import sys

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
opened = set()
seen = {"requests": 0, "now": 0, "busiest": 0}
rows = []


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.rest = b""

    def data_received(self, data):
        *heads, self.rest = (self.rest + data).split(b"\r\n\r\n")
        for head in heads:
            if head.startswith(b"GET /count "):
                different = len(set(rows))
                body = json.dumps({**seen, "open": len(opened), "rows": different, "twice": len(rows) - different,
                                   "last": rows[-100:]}).encode()
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                continue
            if head.startswith(b"GET /forget "):
                rows.clear()
                self.transport.write(OK)
                continue
            opened.add(self)
            seen["requests"] += 1
            seen["now"] += 1
            seen["busiest"] = max(seen["busiest"], seen["now"])
            row = head.startswith(b"GET /row/")
            if row:
                rows.append(int(head.split(b" ", 2)[1].rpartition(b"/")[2]))
            if row or head.startswith(b"GET /slow "):
                asyncio.get_running_loop().call_later(0.05, self.answer)
            else:
                self.answer()

    def answer(self):
        seen["now"] -= 1
        self.transport.write(OK)

    def connection_lost(self, _):
        opened.discard(self)


async def main(address, port):
    server = await asyncio.get_running_loop().create_server(Connection, address, int(port), backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
