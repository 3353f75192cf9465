#!/usr/bin/env python3
"""Redirects, cookies and codings as nginx and Apache httpd do them."""

import gzip
import json

from lib import product
from lib.apache import Apache
from lib.nginx import Nginx
from lib.server import Served, response

NGINX = """
  server {
    listen 127.0.0.1:@PORT@;
    absolute_redirect off;
    location = /to-space { return 302 "/a b?c d"; }
    location = /to-letters { return 302 "/größe?ü=ß"; }
    location = /to-folder { return 302 "../x/./y"; }
    location = /loop { return 302 /loop; }
    location = /login { add_header Set-Cookie "id=new; Path=/nowhere; Path=/"; add_header Set-Cookie "b=1; Path=/";
                        return 303 /cookies; }
    location = /cookies { return 200 "$http_cookie"; }
    location = /word { add_header Content-Encoding utf-8; return 200 "as it is"; }
    location = /twice { alias @FOLDER@/twice.gz; add_header Content-Encoding "gzip, gzip"; }
    location / { return 200 "$host $http_host $request_uri"; }
  }
"""

APACHE = """
LogFormat "%r %>s" short
CustomLog {folder}/access.log short
TypesConfig /dev/null
Redirect 302 /to-space "/a b"
Redirect 308 /to-letters "/größe"
Redirect 302 /loop /loop
AddEncoding x-gzip .gz
AddEncoding binary .bin
<Location /login>
  Header always add Set-Cookie "id=new; Path=/nowhere; Path=/"
</Location>
<Location /compressed>
  SetOutputFilter DEFLATE
</Location>
"""

LETTERS = "/gr%C3%B6%C3%9Fe?%C3%BC=%C3%9F"


def steps(*lines):
    return "\n".join("      " + line for line in lines)


class RealServers(product.Test):
    def once(self, url, *lines):
        """One iteration of these steps; every check must hold."""
        run = self.load(f"""\
defaults: {{http: {{base: "{url}"}}}}
workflows:
  w:
    executor: per-vu-iterations
    vus: 1
    iterations: 1
    steps:
{steps(*lines)}
""")
        self.assertEqual([check["name"] for check in run.result["checks"] if check["fails"]], [], run.result["checks"])
        self.assertEqual(run.errors, {})
        return run

    def test_nginx(self):
        folder = self.folder / "nginx"
        folder.mkdir()
        (folder / "twice.gz").write_bytes(gzip.compress(gzip.compress(b"twice")))
        with Nginx(folder, NGINX) as nginx:
            here = f"127.0.0.1:{nginx.port}"
            run = self.once(
                nginx.url,
                f'space: {{http: {{get: /to-space}}, check: {{body: "127.0.0.1 {here} /a%20b?c%20d"}}}}',
                f'letters: {{http: {{get: /to-letters}}, check: {{body: "127.0.0.1 {here} {LETTERS}"}}}}',
                f'folder: {{http: {{get: /to-folder}}, check: {{body: "127.0.0.1 {here} /x/y"}}}}',
                'loop: {http: {get: /loop, redirects: 3}, check: {status: 302, header: {Location: {contains: /loop}}}}',
                'host: {http: {get: /to-space, headers: {Host: a.example}}, check: {body: {contains: a.example}}}',
                'login: {http: {get: /login, headers: {Cookie: "id=old; own=1"}}, check: {body: "own=1; id=new; b=1"}}',
                'again: {after: login, http: {get: /cookies, headers: {Cookie: "b=2"}}, check: {body: "b=2; id=new"}}',
                'word: {http: {get: /word}, check: {body: as it is}}',
                'word_asked: {http: {get: /word, compressed: true}, check: {body: as it is}}',
                'twice: {http: {get: /twice}, check: {body: twice}}')
            log = nginx.log()
        self.assertEqual(len([entry for entry in log if entry.uri == "/loop"]), 4)
        self.assertEqual(run.totals["requests"], 10)

    def test_apache(self):
        pages = self.folder / "apache" / "pages"
        pages.mkdir(parents=True)
        for name in ("a b", "größe", "login"):
            (pages / name).write_text(f"page {name}")
        (pages / "compressed").write_text("text " * 1000)
        (pages / "packed.gz").write_bytes(gzip.compress(b"packed"))
        (pages / "plain.bin").write_bytes(b"plain")
        with Apache(self.folder / "apache", APACHE, ["alias", "headers", "filter", "deflate", "mime"]) as apache:
            self.once(
                apache.url,
                "space: {http: {get: /to-space}, check: {body: page a b}}",
                "letters: {http: {get: /to-letters}, check: {body: page größe}}",
                "loop: {http: {get: /loop, redirects: 2}, check: {status: 302}}",
                "login: {http: {get: /login, headers: {Cookie: id=old}}, extract: {id: {cookie: id}}}",
                'use: {after: login, http: {get: "/login?${id}"}, check: {status: 200}}',
                "packed: {http: {get: /packed.gz}, check: {body: packed}}",
                "binary: {http: {get: /plain.bin}, check: {body: plain}}",
                "compressed: {http: {get: /compressed, compressed: true}, check: {size: 5000}}")
            asked = apache.requests(12)
        self.assertIn(("/login?new", 200), asked)
        self.assertEqual([status for path, status in asked if path == "/loop"], [302] * 3)


class OddServers(Served):
    def test_a_folded_header_and_statuses_beyond_the_classes(self):
        folded = json.dumps("one   two  \tthree")
        self.answers["/folded"] = response(b"ok", headers=["X-Long: one\r\n two\r\n\tthree"])
        self.answers["/777"] = response(b"odd", status="777 Odd")
        self.answers["/lz4"] = response(b"raw", headers=["Content-Encoding: lz4"])
        run = self.load(f"""\
defaults: {{http: {{base: "{self.server.url}"}}}}
workflows:
  w:
    executor: per-vu-iterations
    vus: 1
    iterations: 1
    steps:
      folded: {{http: {{get: /folded}}, check: {{header: {{X-Long: {folded}}}}}}}
      odd: {{http: {{get: /777}}}}
      expected: {{http: {{get: /777}}, check: {{status: 777}}}}
      raw: {{http: {{get: /lz4}}, check: {{body: raw}}}}
      asked: {{http: {{get: /lz4, compressed: true}}, check: {{body: raw}}}}
""")
        found = run.result["steps"]
        self.assertEqual(found["w.odd"]["status"], {"777": 1})
        self.assertEqual({name: step["failed"] for name, step in found.items()},
                         {"w.folded": 0, "w.odd": 1, "w.expected": 0, "w.raw": 0, "w.asked": 1})
        self.assertEqual(found["w.asked"]["errors"], {"decode": 1})
        self.assertEqual([check["fails"] for check in run.result["checks"] if check["step"] != "w.asked"], [0, 0, 0])


if __name__ == "__main__":
    product.main()
