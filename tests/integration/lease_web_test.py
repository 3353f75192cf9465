#!/usr/bin/env python3
"""`bellwether lease serve`: the page of the leases, what can be asked for there, and who is kept out."""

import contextlib
import html
import http.client
import json
import re
import socket
import urllib.parse
from pathlib import Path

from lib import product
from lib.daemon import PATIENCE, until


class Page(product.Test):
    def setUp(self):
        super().setUp()
        self.via = f"flock:{self.folder}/locks"
        self.audit = self.folder / "audit"

    def lead(self, key, name, *arguments):
        process = self.start("lead", "--via", self.via, "--key", key, "--id", name, "--ttl", "9s", *arguments, "--",
                             "sleep", "1000")
        until(f"{name} stands for {key}", lambda: name in self.words(key))
        return process

    def words(self, key):
        return self.bellwether("lease", "show", key, "--via", self.via).out.split()

    def serve(self, *arguments, listen="127.0.0.1:0"):
        process = self.start("lease", "serve", "--via", self.via, "--listen", listen, "--audit", self.audit,
                             *arguments)
        self.errors = product.Reader(process.stderr)
        line = self.errors.wait_for("are at http://")
        self.port = int(re.search(r":(\d+)/$", line).group(1))
        self.process = process
        return process

    def ask(self, method, path, body=None, fields=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, body, fields or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def leases(self):
        status, _, text = self.ask("GET", "/leases.json")
        self.assertEqual(status, 200, text)
        return {one["key_id"]: one for one in json.loads(text)["leases"]}

    def form(self, key, act):
        """The hidden fields of a form of the page, as a browser reads them."""
        page = self.ask("GET", "/")[2]
        for form in re.findall(r'<form method="post".*?</form>', page, re.S):
            fields = {name: html.unescape(value)
                      for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)}
            if (fields["key"], fields["act"]) == (key, act):
                return fields
        raise AssertionError(f"no form to {act} {key}:\n{page}")

    def post(self, form, more=None, **fields):
        fields = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json", **fields}
        return self.ask("POST", "/act", urllib.parse.urlencode({**form, **(more or {})}), fields)

    def holder(self, key):
        return self.leases().get(key, {}).get("holder")


class Acts(Page):
    def test_the_page_shows_who_holds_what(self):
        self.lead("orders", "a<b>")
        self.serve()
        status, headers, page = self.ask("GET", "/")
        self.assertEqual(status, 200)
        for word in ("orders", "a&lt;b&gt;", ">1<", "elected"):
            self.assertIn(word, page)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        one = self.leases()["orders"]
        self.assertEqual((one["holder"], one["epoch"], one["held"], one["lease_ms"]), ("a<b>", 1, True, 9000))
        self.assertEqual(self.ask("GET", "/?prefix=x")[2].count("orders"), 0)
        self.assertEqual(self.ask("GET", "/nothing")[0], 404)
        self.process.terminate()
        self.assertEqual(self.process.wait(timeout=PATIENCE), 0)

    def test_a_transfer_goes_to_the_one_who_is_named(self):
        self.lead("k", "a")
        self.start("lead", "--via", self.via, "--key", "k", "--id", "b", "--ttl", "9s", "--", "sleep", "1000")
        self.serve()
        self.assertEqual(self.post(self.form("k", "transfer"), {"by": "ops"})[0], 400, "to nobody")
        status, _, text = self.post(self.form("k", "transfer"), {"by": "ops", "to": "b"})
        self.assertEqual(status, 200, text)
        until("b holds it", lambda: self.holder("k") == "b")
        self.assertEqual(self.leases()["k"]["epoch"], 2)
        self.assertIn("transfer", self.ask("GET", "/")[2])

    def test_a_steal_is_confirmed_fenced_audited_and_told_to_the_loser(self):
        loser = self.lead("k", "a", "--once")
        self.serve()
        form = self.form("k", "steal")
        self.assertEqual(self.post(form, {"by": "ops", "to": ""})[0], 400, "not confirmed")
        self.assertEqual(self.holder("k"), "a")
        status, headers, _ = self.post(form, {"by": "ops", "to": "", "confirm": "yes"}, Accept="text/html")
        self.assertEqual((status, headers["Location"]), (303, "/?prefix="))
        one = self.leases()["k"]
        self.assertEqual((one["held"], one["epoch"]), (False, 2))
        run = self.finish(loser)
        self.assertEqual(run.code, 75)
        self.assertIn("taken from a by ops", run.err)
        entry = json.loads(self.audit.read_text().splitlines()[-1])
        self.assertEqual((entry["event"], entry["key"], entry["by"], entry["done"]), ("steal", "k", "ops", 1))

    def test_what_was_seen_is_what_is_acted_on(self):
        self.lead("k", "a")
        self.serve()
        stale = self.form("k", "steal")
        until("somebody took it", lambda: self.bellwether("lease", "steal", "k", "--yes", "--via", self.via).code == 0)
        until("a again", lambda: self.holder("k") == "a" and self.leases()["k"]["epoch"] > 2)
        status, _, text = self.post(stale, {"by": "ops", "to": "", "confirm": "yes"})
        self.assertEqual(status, 409)
        self.assertIn("is over", json.loads(text)["outcome"])
        self.assertEqual(self.holder("k"), "a")

    def test_keys_of_any_bytes_are_released(self):
        key = "<a> \"b\"&'c'%41+\t\u00e4"
        self.lead(key, "a")
        self.serve()
        (name,) = self.leases()
        self.assertNotIn("<a>", self.ask("GET", "/")[2])
        status, _, text = self.post(self.form(name, "release"), {"by": "ops"})
        self.assertEqual(status, 200, text)
        until("an end of the first term", lambda: self.leases()[name]["epoch"] > 1 or not self.leases()[name]["held"])

    def test_a_page_to_be_read_changes_nothing(self):
        self.lead("k", "a")
        self.serve("--read-only")
        self.assertNotIn('method="post"', self.ask("GET", "/")[2])
        self.assertEqual(self.post({"act": "steal", "key": "k", "epoch": "1", "by": "x", "confirm": "yes"})[0], 403)
        self.assertEqual(self.holder("k"), "a")

    def test_a_store_that_cannot_be_read_is_said_on_the_page(self):
        self.via = "redis://127.0.0.1:1"
        self.serve("--store-timeout", "1s")
        status, _, page = self.ask("GET", "/")
        self.assertEqual(status, 502)
        self.assertIn("cannot be read", page)


class Guard(Page):
    def setUp(self):
        super().setUp()
        self.lead("k", "a")

    def steal(self, **fields):
        return self.post({**self.form("k", "steal"), **fields.pop("form", {})}, {"by": "x", "to": "", "confirm": "yes"},
                         **fields)[0]

    def test_other_pages_get_nothing_done(self):
        self.serve()
        here = f"127.0.0.1:{self.port}"
        for fields in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                       {"Origin": f"http://localhost:{self.port}"}):
            self.assertEqual(self.steal(**fields), 403, fields)
        self.assertEqual(self.steal(form={"secret": "0" * 32}), 403)
        self.assertEqual(self.steal(form={"secret": ""}), 403)
        for host in ("evil.example", f"evil.example:{self.port}", "127.0.0.1"):
            self.assertEqual(self.ask("GET", "/", None, {"Host": host})[0], 421, host)
            self.assertEqual(self.steal(Host=host, Origin=f"http://{host}"), 421, host)
        self.assertEqual(self.ask("GET", "/act")[0], 404)
        self.assertEqual(self.holder("k"), "a")
        self.assertEqual(self.steal(Origin=f"http://{here}"), 200)

    def test_what_others_can_reach_wants_a_secret(self):
        run = self.bellwether("lease", "serve", "--via", self.via, "--listen", "0.0.0.0:0")
        self.assert_refused(run, "--secret-file")
        short = self.write("short", "x\n")
        self.assert_refused(self.bellwether("lease", "serve", "--via", self.via, "--secret-file", short), "too short")
        secret = self.write("secret", "correct horse battery\n")
        self.serve("--secret-file", secret, listen="0.0.0.0:0")
        self.assertEqual(self.ask("GET", "/")[0], 401)
        self.assertEqual(self.ask("GET", "/leases.json", None, {"Authorization": "Bearer wrong"})[0], 401)
        bearer = {"Authorization": "Bearer correct horse battery"}
        self.assertEqual(self.ask("GET", "/leases.json", None, bearer)[0], 200)
        form = {"act": "steal", "key": "k", "epoch": "1"}
        more = {"by": "ops", "to": "", "confirm": "yes"}
        self.assertEqual(self.post(form, more)[0], 401)
        self.assertEqual(self.post(form, more, **bearer)[0], 200)

    def test_who_asks_through_a_proxy_acts_only_with_a_secret(self):
        named = ("lease", "serve", "--via", self.via, "--name", "leases.example")
        self.assert_refused(self.bellwether(*named), "--secret-file")
        self.serve("--name", "leases.example", "--read-only")
        self.assertEqual(self.ask("GET", "/", None, {"Host": "leases.example"})[0], 200)
        self.serve("--name", "leases.example", "--secret-file", self.write("secret", "correct horse battery\n"))
        self.assertEqual(self.ask("GET", "/", None, {"Host": "leases.example"})[0], 401)

    def test_who_else_may_act_is_said_at_the_start(self):
        for arguments, may in (((), "may read and act"), (("--read-only",), "may read there")):
            self.serve(*arguments)
            self.errors.wait_for(may)
        secret = self.write("secret", "correct horse battery\n")
        self.serve("--secret-file", secret)
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        self.errors.join(timeout=PATIENCE)
        self.assertNotIn("every user", "".join(self.errors.lines))

    def raw(self, text):
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(text)
            with contextlib.suppress(OSError):
                return connection.recv(100)
        return b""

    def test_what_is_too_large_or_makes_no_sense_is_refused(self):
        self.serve()
        host = f"Host: 127.0.0.1:{self.port}\r\n".encode()
        for text, status in ((b"GET / HTTP/1.1\r\n" + host + b"X: " + b"x" * 200_000, b"431"),
                             (b"POST /act HTTP/1.1\r\n" + host + b"Content-Length: 99999999\r\n\r\n", b"413"),
                             (b"POST /act HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n", b"411"),
                             (b"GET / HTTP/1.1\r\n\r\n", b"400"), (b"\x16\x03\x01\x00\xff\x01" * 20, b"400")):
            self.assertIn(status, self.raw(text)[:12], text[:60])
        self.assertEqual(self.holder("k"), "a")

    def test_slow_clients_keep_nobody_out(self):
        self.serve()
        with contextlib.ExitStack() as stack:
            slow = [stack.enter_context(socket.create_connection(("127.0.0.1", self.port))) for _ in range(200)]
            for one in slow[:100]:
                one.sendall(b"GET / HT")
            self.assertEqual(self.holder("k"), "a")
            # Who did not have to give way loses its connection in the end.
            slow[199].setblocking(False)
            self.assertRaises(BlockingIOError, slow[199].recv, 10)
            slow[199].settimeout(PATIENCE)
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(slow[199].recv(10), b"")
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        self.assertLess(int(re.search(r"VmRSS:\s+(\d+)", status).group(1)), 200_000, "KiB")


if __name__ == "__main__":
    product.main()
