#!/usr/bin/env python3
"""What a scenario says of TLS, against nginx: client certificates, names, versions, and sessions that are resumed."""

from lib import product
from lib.certificates import Authority
from lib.nginx import Nginx
from lib.server import Server, response

HTTP = """
  ssl_certificate @CERTS@/its.pem; ssl_certificate_key @CERTS@/its.key;
  keepalive_timeout 0;
  server {
    listen 127.0.0.1:@PORT@ ssl default_server;
    server_name localhost;
    ssl_session_cache shared:all:1m;
    @MORE@
    location / { return 200 "$ssl_server_name $ssl_protocol $ssl_session_reused $ssl_client_s_dn"; }
  }
"""


class Tls(product.Test):
    def setUp(self):
        super().setUp()
        self.certs = self.folder / "certs"
        self.certs.mkdir()
        self.ca = Authority(self.certs)
        self.ca.issue("its", "DNS:localhost,DNS:shop.test")
        self.ca.issue("me", "DNS:me")

    def serve(self, more=""):
        nginx = Nginx(self.folder / "nginx", HTTP.replace("@MORE@", more).replace("@CERTS@", str(self.certs)))
        self.addCleanup(nginx.stop)
        self.base = f"https://localhost:{nginx.port}"
        return nginx

    def once(self, tls="", step="", check="status: 200", iterations=1, **more):
        """One user; `tls` goes into the defaults, `step` into the step."""
        return self.load(f"""\
defaults: {{http: {{base: "{self.base}", tls: {{ca: certs/ca.pem{tls and ", " + tls}}}}}}}
workflows:
  w:
    executor: per-vu-iterations
    vus: 1
    iterations: {iterations}
    steps: {{s: {{http: {{get: /{step and ", " + step}}}, check: {{{check}}}}}}}
""", **more)

    def assert_holds(self, run):
        self.assertEqual(run.errors, {}, run)
        self.assertEqual({fails for _, fails in run.checks.values()}, {0}, run)

    def test_a_client_certificate_is_shown_where_the_server_demands_one(self):
        nginx = self.serve("ssl_verify_client on; ssl_client_certificate @CERTS@/ca.pem;")
        mine = "certificate: certs/me.pem, key: certs/me.key"
        run = self.once(mine, check='body: {contains: "CN=me"}')
        self.assert_holds(run)
        run = self.once(step=f"tls: {{{mine}}}", check='body: {contains: "CN=me"}')
        self.assert_holds(run)
        run = self.once(code=product.ALL_FAILED)
        self.assertEqual(run.statuses, {400: 1}, "no certificate")
        for file in [self.folder / "result.json", *self.folder.glob("data/**/*")]:
            if file.is_file():
                key = (self.certs / "me.key").read_text().splitlines()[1]
                self.assertNotIn(key.encode(), file.read_bytes(), file)
        self.assertEqual([entry.status for entry in nginx.log()], [200, 200, 400])

    def test_scripts_inherit_the_certificate(self):
        self.serve("ssl_verify_client on; ssl_client_certificate @CERTS@/ca.pem;")
        self.write("w.lua", f"""\
scenario {{defaults = {{http = {{base = "{self.base}", tls = {{ca = "certs/ca.pem", certificate = "certs/me.pem",
                                                                 key = "certs/me.key"}}}}}}}}
local w = workflow("w", {{executor = "per-vu-iterations", iterations = 1}})
w:step("a", {{checks = {{"mine"}}}}, function() check("mine", http.get("/").body:find("CN=me") ~= nil) end)
""")
        self.assert_holds(self.load(self.folder / "w.lua"))

    def test_a_wrong_key_is_known_before_the_run(self):
        nginx = self.serve()
        for key, words in (("its.key", ["certs/its.key'", "certs/me.pem'"]),
                           ("ca.pem", ["scenario.yaml:1:", "no private key"]), ("none", ["No such file"])):
            run = self.bellwether("run", self.named(f"""\
defaults: {{http: {{base: "{self.base}", tls: {{ca: certs/ca.pem, certificate: certs/me.pem, key: certs/{key}}}}}}}
workflows: {{w: {{vus: 1, duration: 1s, steps: {{s: {{http: {{get: /}}}}}}}}}}
"""))
            self.assert_refused(run, *words)
            self.assert_refused(self.bellwether("check", self.folder / "scenario.yaml"), *words)
        self.assertEqual(nginx.log(), [])

    def test_a_server_name_stands_for_the_host(self):
        self.serve()
        self.base = self.base.replace("localhost", "127.0.0.1")
        self.assert_holds(self.once("server_name: shop.test", check='body: {matches: "^shop.test "}'))
        self.assertEqual(self.once(code=product.ALL_FAILED).errors, {"tls": 1})

    def test_versions(self):
        self.serve("ssl_protocols TLSv1.2;")
        self.assert_holds(self.once("max_version: 1.2", check='body: {contains: " TLSv1.2 "}'))
        run = self.once("min_version: 1.3", code=product.ALL_FAILED)
        self.assertEqual(run.errors, {"tls": 1})
        self.assertIn("TLS versions", run.out)
        scenario = self.named(f"""\
defaults: {{http: {{base: "{self.base}", tls: {{ca: certs/ca.pem, min_version: 1.3}}}}}}
workflows: {{w: {{vus: 1, duration: 1s, steps: {{s: {{http: {{get: /}}}}}}}}}}
""")
        self.assert_refused(self.bellwether("run", scenario, "--check-targets"), "no common version of TLS")

    def test_a_version_below_the_best_that_both_speak(self):
        self.serve("ssl_protocols TLSv1.2 TLSv1.3;")
        self.assert_holds(self.once(check='body: {contains: " TLSv1.3 "}'))
        self.assert_holds(self.once("max_version: 1.2", check='body: {contains: " TLSv1.2 "}'))

    def test_sessions_are_resumed_where_the_scenario_says_so(self):
        for version in ("1.2", "1.3"):
            for tickets in ("on", "off"):
                with self.subTest(version=version, tickets=tickets):
                    nginx = self.serve(f"ssl_protocols TLSv{version}; ssl_session_tickets {tickets};")
                    check = 'body: {contains: " r "}'
                    run = self.once("resume: true", check=check, iterations=5)
                    self.assertEqual(list(run.checks.values()), [(4, 1)], "all but the first")
                    run = self.once(check=check, iterations=5)
                    self.assertEqual(list(run.checks.values()), [(0, 5)])
                    self.assertEqual(len({entry.connection for entry in nginx.log()}), 10)

    def test_a_redirect_to_https_keeps_the_settings(self):
        self.serve()
        secure = self.base
        moved = response(status="302 Found", headers=[f"Location: {secure}/"])
        with Server(lambda request, connection: moved) as server:
            self.base = server.url.replace("127.0.0.1", "localhost")
            run = self.once("max_version: 1.2", check=f'body: {{contains: " TLSv1.2 "}}, url: "{secure}/"')
        self.assert_holds(run)


if __name__ == "__main__":
    product.main()
