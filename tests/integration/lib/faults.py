"""The ways in which a target can misbehave, by name: functions of (request, connection) for lib.server.Server."""

import contextlib
import gzip
import time

from .server import chunked, response


def raw(data, then="close"):
    """Sends these bytes and nothing else; then closes, resets, or waits for the other side to give up."""
    data = data if isinstance(data, bytes) else data.replace("\n", "\r\n").encode()

    def answer(_, connection):
        connection.send(data)
        if then == "reset":
            connection.reset()
        elif then == "hang":
            connection.wait_for_close()

    return answer


def endless(first, piece):
    """Sends `first`, then `piece` again and again until the other side has had enough."""

    def answer(_, connection):
        connection.send(first.replace("\n", "\r\n"))
        with contextlib.suppress(OSError):
            while True:
                connection.send(piece)

    return answer


def drip(_, connection):
    """A response whose bytes come one by one."""
    with contextlib.suppress(OSError):
        for byte in response(b"slow" * 100):
            connection.send(bytes([byte]))
            time.sleep(0.02)


def keep_open(data):
    """These bytes as the whole answer; the connection stays open and is ready for the next request."""
    return lambda request, connection: data


BOMB = gzip.compress(bytes(64 << 20))  # 64 MiB of zeros in 64 KiB

# name: (what the server does, the kind of error that is told)
FAULTS = {
    "reset": (raw("", "reset"), "reset"),
    "close": (raw(""), "closed"),
    "hang": (raw("", "hang"), "timeout"),
    "reset-in-head": (raw("HTTP/1.1 200 OK\nContent-", "reset"), "truncated"),
    "close-in-head": (raw("HTTP/1.1 200 OK\nContent-"), "truncated"),
    "hang-in-head": (raw("HTTP/1.1 200 OK\nContent-", "hang"), "timeout"),
    "reset-in-body": (raw("HTTP/1.1 200 OK\nContent-Length: 100\n\nhalf", "reset"), "truncated"),
    "close-in-body": (raw("HTTP/1.1 200 OK\nContent-Length: 100\n\nhalf"), "truncated"),
    "hang-in-body": (raw("HTTP/1.1 200 OK\nContent-Length: 100\n\nhalf", "hang"), "timeout"),
    "close-in-chunk": (raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nff\nhalf"), "truncated"),
    "close-between-chunks": (raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n4\nhalf\n"), "truncated"),
    "negative-length": (raw("HTTP/1.1 200 OK\nContent-Length: -1\n\nbody"), "protocol"),
    "length-of-letters": (raw("HTTP/1.1 200 OK\nContent-Length: many\n\nbody"), "protocol"),
    "length-beyond-64-bits": (raw("HTTP/1.1 200 OK\nContent-Length: 99999999999999999999\n\nbody"), "protocol"),
    "two-lengths": (raw("HTTP/1.1 200 OK\nContent-Length: 4\nContent-Length: 5\n\nbody!"), "protocol"),
    "length-and-chunked": (raw("HTTP/1.1 200 OK\nContent-Length: 4\nTransfer-Encoding: chunked\n\n0\n\n"), "protocol"),
    "chunk-size-of-letters": (raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nxyz\nbody"), "protocol"),
    "chunk-size-beyond-64-bits": (raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nfffffffffffffffff\nx"),
                                  "too_large"),
    "chunk-longer-than-said": (raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nbody\n0\n\n"), "protocol"),
    "garbage": (raw(bytes(range(128, 256)) * 8), "protocol"),
    "another-protocol": (raw("SSH-2.0-OpenSSH_9.2p1\n"), "protocol"),
    "tls-alert": (raw(b"\x15\x03\x01\x00\x02\x02\x46"), "protocol"),
    "status-of-letters": (raw("HTTP/1.1 abc OK\nContent-Length: 0\n\n"), "protocol"),
    "endless-status-line": (endless("HTTP/1.1 200 ", "O" * 4096), "too_large"),
    "endless-header": (endless("HTTP/1.1 200 OK\nX: ", "x" * 4096), "too_large"),
    "endless-headers": (endless("HTTP/1.1 200 OK\n", "X: y\r\n" * 500), "too_large"),
    "endless-chunk-size": (endless("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", "0" * 4096), "too_large"),
    "endless-chunk-extension": (endless("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1;", "x" * 4096), "too_large"),
    "endless-body": (endless("HTTP/1.1 200 OK\n\n", "x" * 65536), "too_large"),
    "endless-chunks": (endless("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", "1000\r\n" + "x" * 4096 + "\r\n"),
                       "too_large"),
    "body-that-is-too-long": (keep_open(response(bytes(2 << 20))), "too_large"),
    "endless-interim": (endless("", "HTTP/1.1 100 Continue\r\n\r\n" * 100), "too_large"),
    "switches-protocols": (raw("HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\n\n"), "protocol"),
    "broken-gzip": (keep_open(response(b"no gzip at all", headers=["Content-Encoding: gzip"])), "decode"),
    "short-gzip": (keep_open(response(gzip.compress(b"x" * 9999)[:-9], headers=["Content-Encoding: gzip"])), "decode"),
    "gzip-bomb": (keep_open(response(BOMB, headers=["Content-Encoding: gzip"])), "too_large"),
    "unknown-encoding": (keep_open(response(b"x", headers=["Content-Encoding: rot13"])), "decode"),
    "drip": (drip, "timeout"),
    "redirect-elsewhere": (keep_open(response(status="302 Found", headers=["Location: gopher://x/"])), "redirect"),
    "redirect-nowhere": (keep_open(response(status="301 Moved", headers=["Location: http://:99999/"])), "redirect"),
}

# Strange answers that are answers all the same: name: (what the server does, status, whether the connection is kept)
ODDITIES = {
    "more-than-said": (keep_open(response(b"body and more", length=4)), 200, False),
    "head-with-body": (keep_open(response(b"body")), 200, False),
    "no-content-with-body": (keep_open(b"HTTP/1.1 204 No Content\r\n\r\nbody"), 204, False),
    "not-modified-with-length": (keep_open(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n"), 304, True),
    "interim": (keep_open(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" +
                          response(b"body")), 200, True),
    "until-close": (raw("HTTP/1.1 200 OK\n\nbody"), 200, False),
    "old-version": (raw("HTTP/1.0 200 OK\nContent-Length: 4\n\nbody"), 200, False),
    "says-close": (raw("HTTP/1.1 200 OK\nConnection: close\nContent-Length: 4\n\nbody"), 200, False),
    "the-same-length-twice": (keep_open(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nbody"),
                              200, True),
    "chunked-with-trailers": (keep_open(chunked(b"bo", b"dy")[:-2] + b"Checksum: 1\r\n\r\n"), 200, True),
    "no-reason": (keep_open(b"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nbody"), 200, True),
    "redirect-without-location": (keep_open(response(status="302 Found")), 302, True),
    "many-headers": (keep_open(response(b"body", headers=[f"X-{n}: {n}" for n in range(90)])), 200, True),
    "long-header": (keep_open(response(b"body", headers=["X: " + "x" * 20000])), 200, True),
    "unknown-status": (keep_open(response(b"body", status="299 Fine")), 299, True),
}
