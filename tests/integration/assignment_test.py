#!/usr/bin/env python3
"""The command as a share's process: it makes the plan of what its worker sends over the socket, and tells every second
of it. The messages are those of src/jobs/assignment/assignment_order.cc, written and read here by hand."""

import fcntl
import mmap
import os
import socket
import struct
import time

from lib import product
from lib.server import Server

SCENARIO = """\
env: {{BASE: "http://127.0.0.1:1", ROOM: ""}}
workflows:
  first: {{vus: 1, duration: 1s, steps: {{a: {{http: {{get: "http://127.0.0.1:1/"}}}}}}}}
  second:
    executor: constant-arrival-rate
    rate: 50/s
    duration: {duration}
    vus: 20
    steps: {{b: {{http: {{get: "${{BASE}}/${{ROOM}}"}}}}}}
"""


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def message(**fields):
    """A protobuf message of fields named f1, f2, …: numbers, bytes, and lists of bytes."""
    out = b""
    for name, value in fields.items():
        number = int(name[1:])
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, bytes):
                out += varint(number << 3 | 2) + varint(len(one)) + one
            else:
                out += varint(number << 3) + varint(one)
    return out


def fields_of(data):
    """{number: value} of a message in which no field is repeated."""
    fields, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        fields[key >> 3] = value
    return fields


class Assignment:
    """The worker's end of the socket to an assignment's process."""

    def __init__(self, test, permit=None):
        self.socket, other = socket.socketpair()
        self.socket.settimeout(product.PATIENCE)
        test.addCleanup(self.socket.close)
        more = ("--permit", permit.fd) if permit else ()
        with other:
            self.process = test.start("assignment", "--socket", other.fileno(), *more,
                                      pass_fds=(other.fileno(), *more[1:]))

    def send(self, **fields):
        frame = message(**fields)
        self.socket.sendall(struct.pack(">I", len(frame)) + frame)

    def order(self, scenario, **variables):
        record = message(f1=b"shop.yaml", f2=scenario.encode(),
                         f6=[message(f1=name.encode(), f2=value.encode()) for name, value in variables.items()])
        self.send(f1=message(f1=message(f1=record), f2=1, f4=1, f5=2))

    def receive(self):
        """(which message, its fields), or None at the end."""
        head = self.read(4)
        if not head:
            return None
        (what, body), = fields_of(self.read(struct.unpack(">I", head)[0])).items()
        return what, fields_of(body)

    def read(self, size):
        data = b""
        while len(data) < size and (piece := self.socket.recv(size - len(data))):
            data += piece
        return data


class Permit:
    """The page of an assignment's process: until when it may make load, and from when on others run its parts."""

    def __init__(self, test):
        self.fd = os.memfd_create("permit", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        test.addCleanup(os.close, self.fd)
        os.ftruncate(self.fd, 16)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        self.page = mmap.mmap(self.fd, 16)
        test.addCleanup(self.page.close)
        struct.pack_into("=q", self.page, 8, 2**63 - 1)  # nobody does

    def last(self, seconds):
        """From now on."""
        self.until = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + int(seconds * 1e9)
        struct.pack_into("=q", self.page, 0, self.until)

    def over(self):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) >= self.until


PREPARED, SECOND, COUNTERS, ENDED = 1, 2, 3, 4
FENCED = 4


class AssignmentProcess(product.Test):
    def test_makes_its_part_of_a_load_whose_plan_it_was_sent(self):
        with Server() as server:
            assignment = Assignment(self)
            assignment.order(SCENARIO.format(duration="2s"), BASE=server.url, ROOM="hall")
            self.assertEqual(assignment.receive(), (PREPARED, {}))
            assignment.send(f2=message(f1=time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
            seen = []
            while (one := assignment.receive()) is not None:
                seen.append(one)
            self.assertEqual(assignment.process.wait(timeout=product.PATIENCE), 0)
            seconds = [fields.get(1, 0) for what, fields in seen if what == SECOND]
            self.assertGreaterEqual(len(seconds), 2)
            self.assertEqual(seconds, list(range(len(seconds))))
            self.assertEqual([what for what, _ in seen[-2:]], [COUNTERS, ENDED])
            self.assertEqual(server.paths(), {"/hall"})
            self.assertEqual(seen[-2][1][1], 50, "half of the arrivals, for it is one of two parts")
            self.assertNotIn(1, seen[-1][1], "it was completed")

    def test_ends_its_load_when_its_permit_ends(self):
        permit = Permit(self)
        permit.last(3600)
        with Server() as server:
            assignment = Assignment(self, permit)
            assignment.order(SCENARIO.format(duration="1h"), BASE=server.url, ROOM="hall")
            self.assertEqual(assignment.receive(), (PREPARED, {}))
            assignment.send(f2=message(f1=time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
            permit.last(8)
            seen = [assignment.receive()]
            permit.last(8)  # the renewal counts
            while seen[-1] is not None:
                self.assertTrue(seen[-1][0] != ENDED or permit.over())
                seen.append(assignment.receive())
            self.assertEqual(assignment.process.wait(timeout=product.PATIENCE), 0)
            self.assertEqual([what for what, _ in seen[-3:-1]], [COUNTERS, ENDED])
            self.assertEqual(seen[-2][1][1], FENCED)
            self.assertNotIn(2, seen[-3][1], "no request failed")

    def test_refuses_a_permit_that_is_none(self):
        with open(self.write("none", "12345678"), "rb") as file:
            permit = type("File", (), {"fd": file.fileno()})
            run = self.finish(Assignment(self, permit).process)
        self.assertEqual(run.code, 1)
        self.assertIn("is not the permit of an assignment", run.err)

    def test_tells_why_a_plan_cannot_be_made(self):
        assignment = Assignment(self)
        assignment.order("workflows: {}")
        what, fields = assignment.receive()
        self.assertEqual(what, PREPARED)
        self.assertIn(b"shop.yaml", fields[2])
        self.assertIsNone(assignment.receive())
        self.assertEqual(assignment.process.wait(timeout=product.PATIENCE), 0)

    def test_ends_when_its_worker_does(self):
        assignment = Assignment(self)
        assignment.order(SCENARIO.format(duration="1h"), BASE="http://127.0.0.1:1")
        self.assertEqual(assignment.receive(), (PREPARED, {}))
        assignment.send(f2=message(f1=time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
        self.assertEqual(assignment.receive()[0], COUNTERS)
        assignment.socket.close()
        self.assertEqual(assignment.process.wait(timeout=product.PATIENCE), 1)

    def test_does_not_go_on_with_a_worker_that_talks_nonsense(self):
        assignment = Assignment(self)
        assignment.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        self.assertIsNone(assignment.receive())
        run = self.finish(assignment.process)
        self.assertEqual(run.code, 1)
        self.assertIn("bellwether assignment: ", run.err)

    def test_is_not_for_people(self):
        run = self.bellwether("assignment")
        self.assert_refused(run, "does nothing by hand")
        self.assertNotIn("assignment", self.bellwether("--help").out)
        self.assertNotIn("assignment", self.bellwether("shar").err.split("'shar'")[1])


if __name__ == "__main__":
    product.main()
