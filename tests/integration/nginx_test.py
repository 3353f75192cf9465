#!/usr/bin/env python3
"""Against nginx: what is counted here is exactly what it logged there; TLS with names and authorities; compression."""

import gzip
import json

from lib import product
from lib.certificates import Authority
from lib.daemon import until
from lib.nginx import Nginx

PLAIN = """
  server {
    listen 127.0.0.1:@PORT@ backlog=1024;
    location = /small { return 200 "small\\n"; }
    location = /moved { return 302 /small; }
    location = /broken { return 500 "no\\n"; }
    location /files/ { alias @FOLDER@/files/; gzip on; gzip_types *; gzip_min_length 1; etag on; }
  }
"""


GUARDED = """
  server {
    listen 127.0.0.1:@PORT@;
    location / { auth_basic "shop"; auth_basic_user_file @FOLDER@/users; try_files /none =204; }
  }
"""


class Guarded(product.Test):
    def test_credentials_are_those_that_nginx_knows(self):
        with Nginx(self.folder / "nginx", GUARDED) as nginx:
            (self.folder / "nginx" / "users").write_text("ann:{PLAIN}se cr@t/+?\nuser1:{PLAIN}p1\n")
            run = self.load(f"""\
defaults: {{http: {{base: "{nginx.url}", auth: {{basic: {{user: ann, password: "se cr@t/+?"}}}}}}}}
workflows:
  w:
    vus: 1
    iterations: 2
    steps:
      usual: {{http: {{get: /}}, check: {{status: 204}}}}
      own: {{http: {{get: /, auth: {{basic: {{user: "user${{vu}}", password: "p${{vu}}"}}}}}}, check: {{status: 204}}}}
      wrong: {{http: {{get: /, auth: {{basic: {{user: ann, password: no}}}}}}, check: {{status: 401}}}}
      header: {{http: {{get: /, headers: {{Authorization: "Basic YW5uOnNlIGNyQHQvKz8="}}}}, check: {{status: 204}}}}
""")
        self.assertEqual([(check["name"], check["fails"]) for check in run.result["checks"] if check["fails"]], [])
        self.assertGreater(run.totals["requests"], 3)


class Exact(product.Test):
    """Requests, bytes, statuses and connections are those of the access log."""

    def assert_same(self, run, log, unread=0):
        """`unread`: bytes of bodies that nginx threw away, which it does not count."""
        self.assertEqual(run.totals["requests"], len(log))
        self.assertEqual(run.totals["bytes_sent"], sum(entry.request_length for entry in log) + unread)
        self.assertEqual(run.totals["bytes_received"], sum(entry.bytes_sent for entry in log))
        self.assertEqual(sum(run.statuses.values()), len(log))
        connects = sum((step["phases_ms"]["connect"] or {"count": 0})["count"]
                       for step in run.result["steps"].values())
        self.assertEqual(connects, len({entry.connection for entry in log}))

    def test_closed_model(self):
        with Nginx(self.folder / "nginx", PLAIN) as nginx:
            run = self.load(f"{nginx.url}/small", "--vus", "20", "-n", "3000")
            log = nginx.log()
        self.assert_same(run, log)
        self.assertEqual(len(log), 3000, "the server closes a connection after its hundredth request")
        self.assertEqual(run.totals["failed"], 0)

    def test_open_model_with_several_steps_and_statuses(self):
        with Nginx(self.folder / "nginx", PLAIN) as nginx:
            run = self.load(f"""\
defaults: {{http: {{base: "{nginx.url}", redirects: 0}}}}
workflows:
  w:
    rate: 200/s
    duration: 500ms
    vus: 100
    steps:
      a: {{http: {{get: /small}}}}
      b: {{after: a, http: {{post: /small, body: "0123456789"}}}}
      c: {{after: a, http: {{get: /broken}}}}
      d: {{after: [b, c], http: {{head: /moved}}}}
""")
            log = nginx.log()
        self.assert_same(run, log, unread=10 * run.totals["iterations"])
        self.assertEqual(run.totals["scheduled_iterations"], 100)
        self.assertEqual(run.totals["iterations"], 100 - run.totals["dropped_iterations"])
        self.assertEqual(len(log), 4 * run.totals["iterations"])
        for status in (200, 302, 500):
            self.assertEqual(run.statuses[status], len([entry for entry in log if entry.status == status]))

    def test_redirects_are_followed_and_belong_to_one_request(self):
        with Nginx(self.folder / "nginx", PLAIN) as nginx:
            run = self.load(f"{nginx.url}/moved", "-n", "5")
            log = nginx.log()
        self.assertEqual(run.statuses, {200: run.totals["requests"]})
        self.assertEqual(len(log), 2 * run.totals["requests"])
        self.assertEqual(run.totals["bytes_sent"], sum(entry.request_length for entry in log))
        self.assertEqual(run.totals["bytes_received"], sum(entry.bytes_sent for entry in log))

    def begin(self, nginx, *arguments):
        """Starts a run without end; its first requests are answered when this returns."""
        self.file = self.folder / "result.json"
        process = self.start("run", f"{nginx.url}/small", "--duration", "1h", "--ui", "none", "--out",
                             f"json={self.file}", *arguments, environment=self.runtime())
        nginx.wait_for_entries(1)
        return process

    def runtime(self):
        folder = self.folder / "runtime"
        folder.mkdir(mode=0o700, exist_ok=True)
        return {"XDG_RUNTIME_DIR": str(folder)}

    def failed(self):
        """How many requests of the run that is under way have failed so far."""
        return json.loads(self.bellwether("ctl", "last", "--json", environment=self.runtime()).out)["failed"]

    def interrupt(self, process):
        product.interrupt(process)
        run = self.finish(process, self.file)
        self.assertEqual(run.code, product.SIGNAL, run)
        self.assert_sound(run)
        return run

    def test_interrupted_by_hand_it_still_adds_up(self):
        with Nginx(self.folder / "nginx", PLAIN) as nginx:
            run = self.interrupt(self.begin(nginx, "--vus", "8"))
            log = nginx.log()
        self.assert_same(run, log)

    def test_the_target_is_restarted_during_the_run(self):
        """Its port refuses for a while: those requests are counted as refused, all others as answered."""
        with Nginx(self.folder / "nginx", PLAIN) as nginx:
            process = self.begin(nginx, "--rate", "200/s")
            nginx.stop()
            until("requests that are refused", lambda: self.failed() > 0)
            before = nginx.entries()
            nginx.start()
            nginx.wait_for_entries(before + 10)
            run = self.interrupt(process)
            log = nginx.log()
        self.assertEqual(run.statuses[200], len(log))
        self.assertIn("connect_refused", run.errors)
        self.assertEqual(sum(run.errors.values()) + len(log), run.totals["requests"])

    def test_files_compressed_and_plain(self):
        folder = self.folder / "nginx" / "files"
        folder.mkdir(parents=True)
        (folder / "text").write_text("a line of text\n" * 5000)
        (folder / "large").write_bytes(bytes(3 << 20))
        with Nginx(self.folder / "nginx", PLAIN) as nginx:
            run = self.load(f"""\
defaults: {{http: {{base: "{nginx.url}/files/"}}}}
workflows:
  w:
    vus: 2
    iterations: 6
    steps:
      plain: {{http: {{get: text}}, check: {{size: 75000, header: {{Content-Encoding: {{exists: false}}}}}}}}
      packed: {{http: {{get: text, compressed: true}}, check: {{size: 75000, header: {{Content-Encoding: gzip}}}}}}
      large: {{http: {{get: large}}, check: {{size: 3MiB}}}}
      unread: {{http: {{get: large}}}}
""")
            log = nginx.log()
        for name, (passes, fails) in run.checks.items():
            self.assertEqual(fails, 0, name)
            self.assertGreater(passes, 0, name)
        self.assert_same(run, log)
        steps = run.result["steps"]
        self.assertLess(steps["w.packed"]["bytes_received"], steps["w.plain"]["bytes_received"] // 20)


TLS = """
  server {
    listen 127.0.0.1:@PORT@ ssl default_server;
    ssl_certificate @CERTS@/stranger.pem; ssl_certificate_key @CERTS@/stranger.key;
    location / { return 200 "default"; }
  }
  server {
    listen 127.0.0.1:@PORT@ ssl;
    server_name localhost;
    ssl_certificate @CERTS@/@NAME@.pem; ssl_certificate_key @CERTS@/@NAME@.key;
    location / { return 200 "$ssl_server_name $http_host $ssl_protocol $ssl_session_reused"; }
  }
"""


class Tls(product.Test):
    """A server with one name, of which the test chooses the certificate, and a default one that nobody trusts."""

    def setUp(self):
        super().setUp()
        self.certs = self.folder / "certs"
        self.certs.mkdir()
        self.ca = Authority(self.certs)
        Authority(self.certs, "nobody").issue("stranger", "IP:127.0.0.1")

    def serve(self, alternative="DNS:localhost", days=1):
        self.ca.issue("its", alternative, days)
        self.nginx = Nginx(self.folder / "nginx", TLS.replace("@CERTS@", str(self.certs)).replace("@NAME@", "its"))
        self.addCleanup(self.nginx.stop)
        self.port = self.nginx.port

    def get(self, host, *arguments, **more):
        return self.load(f"https://{host}:{self.port}/", "-n", "4", "--vus", "2", *arguments, **more)

    def test_a_trusted_certificate(self):
        self.serve()
        run = self.get("localhost", "--cacert", self.ca.file)
        self.assertEqual(run.totals["failed"], 0)
        phases = run.result["steps"]["url.get"]["phases_ms"]
        self.assertEqual(phases["tls"]["count"], phases["connect"]["count"])
        self.assertGreaterEqual(phases["tls"]["count"], 2)
        self.assertEqual(len(self.nginx.log()), run.totals["requests"])

    def test_the_server_is_told_which_name_is_meant(self):
        self.serve()
        run = self.load(f"""\
defaults: {{http: {{tls: {{ca: certs/ca.pem}}}}}}
workflows:
  w:
    vus: 1
    iterations: 2
    steps:
      s:
        http: {{get: "https://localhost:{self.port}/"}}
        check: {{body: {{matches: "^localhost localhost:{self.port} "}}}}
""")
        self.assertEqual(run.totals["failed"], 0, run)
        self.assertEqual({fails for _, fails in run.checks.values()}, {0}, run)

    def refused(self, host, *arguments):
        run = self.get(host, *arguments, code=product.ALL_FAILED)
        self.assertEqual(set(run.errors), {"tls"})
        self.assertIn("certificate", run.out)
        self.assertEqual(self.nginx.log(), [], "nothing is sent to whom is not trusted")

    def test_an_unknown_authority(self):
        self.serve()
        self.refused("localhost")

    def test_another_name(self):
        self.serve("DNS:example.com")
        self.refused("localhost", "--cacert", self.ca.file)

    def test_an_address_that_the_certificate_does_not_name(self):
        self.serve()
        self.refused("127.0.0.1", "--cacert", self.ca.file)

    def test_an_expired_certificate(self):
        self.serve(days=-1)
        self.refused("localhost", "--cacert", self.ca.file)

    def test_insecure_takes_any(self):
        self.serve(days=-1)
        run = self.get("127.0.0.1", "--insecure")
        self.assertEqual(run.totals["failed"], 0)
        self.assertEqual({entry.status for entry in self.nginx.log()}, {200})

    def test_http_on_a_tls_port_is_an_answer(self):
        self.serve()
        run = self.load(f"http://localhost:{self.port}/", "-n", "2", code=product.ALL_FAILED)
        self.assertEqual(run.statuses, {400: run.totals["requests"]})

    def test_a_wrong_ca_file_is_known_before_the_run(self):
        self.serve()
        broken = self.write("broken.pem", "no certificate")
        run = self.bellwether("run", f"https://localhost:{self.port}/", "--cacert", broken)
        self.assert_refused(run, "broken.pem")
        self.assertEqual(self.nginx.log(), [])


class Precompressed(product.Test):
    def test_brotli_and_gzip_as_files(self):
        folder = self.folder / "nginx" / "files"
        folder.mkdir(parents=True)
        (folder / "br").write_bytes(b"\x0b\x02\x80hello\x03")
        (folder / "gz").write_bytes(gzip.compress(b"hello"))
        http = """
  server {
    listen 127.0.0.1:@PORT@;
    location = /br { alias @FOLDER@/files/br; add_header Content-Encoding br; }
    location = /gz { alias @FOLDER@/files/gz; add_header Content-Encoding gzip; }
  }
"""
        with Nginx(self.folder / "nginx", http) as nginx:
            run = self.load(f"""\
defaults: {{http: {{base: "{nginx.url}", compressed: true}}}}
workflows:
  w:
    vus: 1
    iterations: 2
    steps:
      br: {{http: {{get: /br}}, check: {{body: hello, size: 5}}}}
      gz: {{http: {{get: /gz}}, check: {{body: hello, size: 5}}}}
""")
        self.assertEqual({fails for _, fails in run.checks.values()}, {0}, run)
        self.assertEqual(run.totals["failed"], 0)


if __name__ == "__main__":
    product.main()
