#!/usr/bin/env python3
"""Imported scenarios run as they are, and send what curl, or the recorded browser, has sent."""

import json
import subprocess
from pathlib import Path
from urllib.parse import unquote_plus

from lib import product
from lib.server import Served
from lib.target import Target

# What the two clients say of themselves and of their connection.
OWN = {"user-agent", "accept", "host", "connection", "accept-encoding", "content-length", "expect"}

COMMANDS = [
    "curl 'URL/items?q=a%20b&x=1'",
    "curl URL/cart -d item=7 --data-urlencode 'note=a b&c' -H 'X-Odd: a:b \"c\"' -A agent/1",
    "curl -X PUT URL/item -H 'Content-Type: application/json' --data-raw '{\"name\":\"${x}\",\"n\":[1.50,true,null]}'",
    "curl -G URL/search --data-urlencode 'q=ü/?' -d page=2",
    "curl -u ann:hunter2 -b 'sid=s3cr; b=2' -e http://r.example/ URL/account",
    "curl -F name=ann -F 'text=b;type=text/html' URL/form",
    "curl URL/bytes --data-binary $'a\\nb\\t\\u00e9\\'' -H 'Content-Type: text/plain' --max-time 60",
    "curl -I URL/head -k --compressed",
    "curl -T FOLDER/a.txt URL/up/",
    "curl -T FOLDER/a.txt URL",
    "curl URL/json --json '{\"a\":1}' -H 'Accept: text/html'",
    "curl URL/json -d '{\"user\":\"a\",\"password\":\"b\"}'",
    "curl URL/text -d 'a=1&pass=b%20c&a=2'",
]


class Imports(Served):
    def arrived(self, request):
        headers = {name: value for name, value in request.headers if name not in OWN}
        if request.header("user-agent") == "agent/1":
            headers["user-agent"] = "agent/1"
        # Clients differ in the spelling of escapes, which means the same.
        is_form = (request.header("content-type") or "").startswith("application/x-www-form-urlencoded")
        body = unquote_plus(request.body.decode()).encode() if is_form else request.body
        return request.method, unquote_plus(request.target), headers, body

    def test_curl_and_the_import_send_the_same(self):
        self.write("a.txt", "content")
        for number, command in enumerate(COMMANDS):
            with self.subTest(command):
                command = command.replace("URL", self.server.url).replace("FOLDER", str(self.folder))
                self.server.requests.clear()
                subprocess.run(["bash", "-c", command + " --silent --output /dev/null"], check=True,
                               timeout=product.PATIENCE)
                expected = [self.arrived(request) for request in self.server.requests]
                scenario = self.folder / f"{number}.yaml"
                run = self.bellwether("import", "curl", command, "--keep-secrets", "-o", scenario)
                self.assertEqual((run.code, run.err), (0, ""), run)
                self.server.requests.clear()
                self.load(scenario, "--vus", "1", "--duration", "1s")
                got = [self.arrived(request) for request in self.server.requests[:1]]
                if "form" in command:  # the boundary is free
                    expected, got = [[self.without_boundary(one) for one in side] for side in (expected, got)]
                self.assertEqual(got, expected)

    def without_boundary(self, arrived):
        method, target, headers, body = arrived
        boundary = headers.pop("content-type").partition("boundary=")[2].encode()
        return method, target, headers, body.replace(boundary, b"")

    def test_secrets_stay_out_of_the_file_and_come_from_the_environment(self):
        scenario = self.folder / "a.yaml"
        run = self.bellwether("import", "curl", f"curl {self.server.url}/a -H 'Authorization: Bearer s3cr3t'", "-o",
                              scenario)
        self.assertEqual(run.code, 0, run)
        self.assertIn("--set TOKEN=…", run.err)
        self.assertNotIn("s3cr3t", scenario.read_text(encoding="utf-8"))
        self.assert_refused(self.bellwether("check", scenario), "'TOKEN' in 'env' has no value")
        self.load(scenario, "--duration", "1s", environment={"TOKEN": "other"})
        self.assertEqual(self.server.requests[0].header("authorization"), "Bearer other")

    def test_a_form_with_files_of_a_document_is_sent(self):
        document = self.write("api.yaml", "openapi: 3.0.0\nservers: [{url: " + self.server.url + """}]
paths:
  /up:
    post:
      requestBody:
        content:
          multipart/form-data:
            schema:
              properties:
                name: {type: string, example: ann}
                photo: {type: string, format: binary}
                meta: {properties: {n: {type: integer}}}
      responses: {'200': {}}
""")
        run = self.bellwether("import", "openapi", document)
        self.assertEqual((run.code, run.err), (0, ""), run)
        self.load(run.out, "--duration", "1s")
        body = self.server.requests[0].body
        for part in (b'name="name"\r\n\r\nann\r\n',
                     b'name="photo"; filename="photo"\r\nContent-Type: application/octet-stream\r\n',
                     b'application/json\r\n\r\n{"n":1}\r\n'):
            self.assertIn(part, body)

    def test_a_recording_is_repeated(self):
        target = Target(self)
        entries = []
        for method, path, status, text, more in (
                ("POST", "/login", 200, '{"user": "ada", "pass": "x"}', {}),
                ("GET", "/redirect/1", 302, None, {"redirectURL": "/json"}),
                ("GET", "/json", 200, None, {}),
                ("GET", "/items?page=1", 200, None, {}),
                ("POST", "/echo", 200, '{"a": 1}', {}),
                ("GET", "/status/404", 404, None, {}),
                ("GET", "/logo.png", 404, None, {})):
            request = {"method": method, "url": target.url + path,
                       "headers": [{"name": "User-Agent", "value": "Browser 1"}, {"name": "Cookie", "value": "old=1"}]}
            if text:
                request["postData"] = {"mimeType": "application/json", "text": text}
            entries.append({"startedDateTime": "2026-01-01T10:00:00Z", "time": 5, "request": request,
                            "response": {"status": status, "content": {}, **more}})
        har = self.write("shop.har", json.dumps({"log": {"entries": entries}}))
        scenario = self.folder / "shop.yaml"
        run = self.bellwether("import", "har", har, "-o", scenario)
        self.assertEqual(run.code, 0, run)
        self.assertIn("1 request left out: static content", run.err)
        self.assertIn("left out: old;", run.err)
        run = self.load(scenario, "--duration", "1s", "--set", "PASS=x")
        names = {name.split(".")[-1] for name in run.result["steps"]}
        self.assertEqual(names, {"post_login", "get_redirect_1", "get_items", "post_echo", "get_status_404"})
        self.assertEqual({failed for _, failed in run.checks.values()}, {0}, run.checks)

    def test_the_file_is_not_replaced_unasked(self):
        scenario = self.write("a.yaml", "mine")
        command = f"curl {self.server.url}"
        self.assert_refused(self.bellwether("import", "curl", command, "-o", scenario), "exists already", "--force")
        self.assertEqual(Path(scenario).read_text(encoding="utf-8"), "mine")
        self.assertEqual(self.bellwether("import", "curl", command, "-o", scenario, "--force").code, 0)
        self.assertIn("workflows:", Path(scenario).read_text(encoding="utf-8"))

    def test_files_and_their_errors(self):
        file = self.write("requests.sh", f"curl {self.server.url}/a\n\ncurl {self.server.url}/b | jq .\n")
        run = self.bellwether("import", "curl", file)
        self.assertEqual(run.code, 0, run)
        self.assertIn("get: /b", run.out)
        self.assertIn("warning: 'jq' is left out", run.err)
        bad = self.write("bad.json", '{"openapi": "3.0.0",\n "paths": {]}')
        self.assert_refused(self.bellwether("import", "openapi", bad), "bad.json:2:12: this is not JSON")
        self.assert_refused(self.bellwether("import", "postman", self.write("no.json", "{}")), "no.json:1:1: ")
        self.assert_refused(self.bellwether("import", "har", "missing.har"), "missing.har")
        document = self.write("api.yaml", "openapi: 3.0.0\nservers: [{url: " + self.server.url +
                              "/v1}]\npaths: {'/a/{id}': {get: {responses: {'200': {}}}}}\n")
        run = self.bellwether("import", "openapi", document)
        self.load(run.out, "--duration", "1s")
        self.assertEqual(self.server.paths(), {"/v1/a/1"})


if __name__ == "__main__":
    product.main()
