#!/usr/bin/env python3
"""The command line: help with examples, wrong arguments refused in words that help, flags that do what they say."""

import os
import re
import resource
from pathlib import Path

from lib import product
from lib.server import Served, Server, response

ROOT = str(Path(__file__).resolve().parent.parent.parent) + "/"

# What a person might type wrongly, and the words that must come back. @URL@ is a server that counts.
WRONG = [
    ("run", "FILE|URL", "--help"),
    ("check", "FILE", "--help"),
    ("", "--help", "run"),
    ("nope", "nope", "--help"),
    ("rnu scenario.yaml", "'rnu'", "did you mean 'run'"),
    ("cluster memebrs", "'memebrs'", "did you mean 'members'", "See 'bellwether cluster --help'"),
    ("cluster", "the command is missing", "members"),
    ("members", "did you mean 'cluster members'"),
    ("cluster submit", "did you mean 'job submit' or 'context submit'"),
    ("help members", "did you mean 'cluster members'"),
    ("help foo", "there is no command 'foo'; `bellwether help` lists all"),
    ("build /nowhere.cc", "cannot read '/nowhere.cc': No such file"),
    ("lead --via flock:x --key k --ttl 3 -- ls", "--ttl: '3' has no unit; write for example 3s"),
    ("cluster managers ad m1", "'ad'", "did you mean 'add'"),
    ("cluster managers --node 127.0.0.1:1 remove m1", "write --node after 'remove'"),
    ("worker --config w.yaml drain w1", "write --config after 'drain'"),
    ("cluster voters ad m1", "'ad'", "did you mean 'add'"),
    ("cluster members --tiemout 3s", "--tiemout", "did you mean '--timeout'"),
    ("ctl last pase", "'pase'", "did you mean 'pause'"),
    ("sim --wrold quorum", "--wrold", "did you mean '--world'"),
    ("run @URL@ --vsu 3", "--vsu", "did you mean '--vus'"),
    ("run @URL@ --durration 5s", "--durration", "did you mean '--duration'"),
    ("run @URL@ another", "another"),
    ("run @URL@ --vus 0", "--vus", "'0'"),
    ("run @URL@ --vus many", "--vus", "'many'"),
    ("run @URL@ --vus -3", "--vus", "'-3'"),
    ("run @URL@ --vus 1000001", "--vus", "1000000"),
    ("run @URL@ --duration 5", "--duration", "unit", "5s"),
    ("run @URL@ --duration 0s", "--duration"),
    ("run @URL@ --duration -1s", "--duration", "-1s"),
    ("run @URL@ --duration 999999999h", "--duration", "999999999h"),
    ("run @URL@ --rate fast", "--rate", "500/s"),
    ("run @URL@ --rate 0/s", "--rate"),
    ("run @URL@ --cores 0", "--cores"),
    ("run @URL@ --cores -1", "--cores"),
    ("run @URL@ --cores 100000", "--cores", "1024"),
    ("run @URL@ --pin x", "--pin", "0-3"),
    ("run @URL@ --pin 999", "--pin", "999"),
    ("run @URL@ --ui tui", "--ui", "'tui'", "full, ci or none"),
    ("run @URL@ --out cvs=x", "--out", "did you mean 'csv'"),
    ("run @URL@ --out html=x --out json=x", "--out", "another report"),
    ("run @URL@ --out hdr:url.got=x", "url.got", "did you mean 'url.get'"),
    ("run @URL@ --out json=", "--out", "FORMAT=FILE"),
    ("run @URL@ --out json=-", "--out", "name a file"),
    ("target --listen 127.0.0.1:80000", "--listen", "at most 65535"),
    ("manager", "'cluster' is missing", "--config FILE"),
    ("run script.js", "'script.js' is a script of another tool", 'pages "From k6"'),
    ("run @URL@ --out json=/nowhere/x.json", "/nowhere/x.json", "folder"),
    ("run @URL@ --header nonsense", "--header", "Name: value"),
    ("run @URL@ --header Bad\nName:1", "header"),
    ("run @URL@ --header Transfer-Encoding:chunked", "Transfer-Encoding", "Content-Length"),
    ("run @URL@ --method CONNECT", "CONNECT"),
    ("run @URL@ --method G@T", "G@T"),
    ("run @URL@ --set A=1", "--set", "scenario file"),
    ("run @URL@ --cacert /nowhere.pem", "/nowhere.pem"),
    ("run @URL@ --cacert /dev/null", "/dev/null", "empty"),
    ("run @URL@ --seed x", "--seed"),
    ("run ftp://127.0.0.1/", "ftp"),
    ("run http://", "http://", "host"),
    ("run http://127.0.0.1:0/", "port"),
    ("run http://127.0.0.1:99999/", "99999"),
    ("run http://user:pass@127.0.0.1/", "user name"),
    ("run 127.0.0.1:8080", "http://127.0.0.1:8080"),
    ("run localhost:8080/path", "http://localhost:8080/path"),
    ("run example.com --vus 3", "http://example.com"),
    ("run scenario.yaml --method POST", "--method", "scenario"),
    # The words of the parser of options never reach a person.
    ("run @URL@ --vus", "--vus has no value; write --vus"),
    ("run @URL@ --cores x", "--cores 'x': write a whole number from 1 to 1024"),
    ("run @URL@ --seed 1 --seed 2", "--seed is given 2 times; give it once"),
    ("run @URL@ --insecure=maybe", "--insecure takes no value"),
    ("run @URL@ --quiet=3", "there is no option '--quiet=3'\n"),
    ("target --stall 5", "there is no option '--stall'\n"),
    ("import curl curl -X POST @URL@", "there is no option '-X'; put the whole command line of curl in quotes"),
    ("import curl curl @URL@", "unexpected argument", "; put the whole command line of curl in quotes"),
    ("import curl --keep-secret x", "did you mean '--keep-secrets'?\n"),
    ("results compare a", "RUN: 1 given, at least 2 needed"),
    ("results compare", "RUN is missing: One or more baselines"),
    ("lease show", "--via URL is missing: The store"),
    ("lease list --via x --most 0", "--most '0': write a whole number above 0"),
    ("lease list --via x --store-timeout 15sec", "--store-timeout: 'sec' in '15sec'", "use ns, us, ms, s, m, h or d"),
    ("lead --via flock:x --key k --ttl 15sec -- ls -l", "--ttl: 'sec' in '15sec'", "use ns, us, ms, s, m, h or d"),
    ("cluster up --workers x", "--workers 'x': write a whole number from 0 on"),
    ("watch --id a", "--id needs --registry: give both"),
    ("cluster use --unset local", "exclude each other: give one of them"),
]


class Refusals(product.Test):
    def test_wrong_arguments_are_refused_before_the_first_request(self):
        with Server() as server:
            for line, *words in WRONG:
                with self.subTest(line):
                    arguments = [word.replace("@URL@", server.url) for word in line.split(" ") if word]
                    run = self.bellwether(*arguments)
                    self.assert_refused(run, *words)
                    self.assertLess(len(run.err.splitlines()), 8, run)
            self.assertEqual(server.connections, 0)

    def test_a_flag_that_fits_no_workflow(self):
        file = self.write("closed.yaml", "workflows: {w: {vus: 1, duration: 1s, steps: {s: {http: "
                                         "{get: 'http://127.0.0.1:1/'}}}}}\n")
        self.assert_refused(self.bellwether("run", file, "--rate", "5/s"), "--rate")


# Examples of the help that need no server and no run.
EXAMPLES = [
    "check examples/first.yaml --set BASE=http://127.0.0.1:8080",
    "check --schema",
    "ctl",
    "budget examples/leadership/policy.yaml",
    "budget --profile high-availability",
    "budget --of-cluster --config examples/cluster/m1.yaml --nodes 100",
    "alerts examples/leadership/policy.yaml",
    "keys split --names m1,m2,m3 --out shares",
    "keys verify --commitment shares/key.commitment shares/m1.share",
    "sim --world leadership-redis --seed 4711",
    "cluster use",
    "cluster use local",
    "help cluster up",
    "version",
]


class Help(product.Test):
    def commands(self, *path):
        """Each command below `path`: (its path, the text of its help)."""
        run = self.bellwether(*path, "--help")
        self.assertEqual((run.code, run.err), (product.PASS, ""), path)
        yield path, run.out
        for group in re.findall(r"^(?:Load|Cluster|Lead|Advanced|Help|Subcommands):\n((?:  .*\n)+)", run.out, re.M):
            for name in re.findall(r"^  ([a-z]+)", group, re.M):
                yield from self.commands(*path, name)

    def test_each_command_says_its_purpose_and_gives_an_example(self):
        seen = 0
        for path, out in self.commands():
            with self.subTest(path):
                seen += 1
                self.assertLessEqual(max(map(len, out.splitlines())), 120)
                if path:
                    self.assertRegex(out, rf"^[A-Z][^\n]+\.\n\nExample:\n(?:  .*\n)*?  bellwether {' '.join(path)}\b")
        self.assertGreater(seen, 70)

    def test_examples_work(self):
        helps = "".join(out for _, out in self.commands())
        for line in EXAMPLES:
            with self.subTest(line):
                self.assertRegex(helps, rf"\n  bellwether {re.escape(line)}(?= *[\n>])")
                words = [ROOT + word if word.startswith("examples/") else word for word in line.split()]
                self.assertEqual(self.bellwether(*words).code, 0)

    def test_the_pages_of_the_reference_are_the_help(self):
        folder = self.folder / "cli"
        folder.mkdir()
        self.assertEqual(self.bellwether("help", "--markdown", folder).code, 0)
        kept = Path(ROOT, "docs/reference/cli")
        self.assertEqual(sorted(os.listdir(folder)), sorted(os.listdir(kept)))
        for name in os.listdir(folder):
            self.assertEqual(Path(folder, name).read_text(), Path(kept, name).read_text(),
                             f"{name}: write it again with `bellwether help --markdown docs/reference/cli`")

    def test_the_help_names_pages_by_their_titles(self):
        """Who installed the binary has no folder with documents."""
        titles = {page.read_text().split("\n", 1)[0].removeprefix("# ") for page in Path(ROOT, "docs").rglob("*.md")}
        named = set()
        for path, out in self.commands():
            with self.subTest(path):
                self.assertNotRegex(out, r"docs/|\.md\b")
                text = " ".join(out.split())
                named |= set(re.findall(r'[Pp]age "([^"]+)" of the documentation', text))
        self.assertIn("Exit codes", named)
        self.assertLessEqual(named, titles)

    def test_the_help_names_every_exit_code_and_command_in_its_group(self):
        out = self.bellwether("--help").out
        for code in ("1 sent no load", "99", "104", "105", "108", "110", "120", "121", "122", "123", "124"):
            self.assertIn(code, out)
        groups = dict(re.findall(r"^(\w+):\n((?:  \w.*\n)+)", out, re.M))
        self.assertEqual(list(groups), ["Load", "Cluster", "Lead", "Advanced", "Help"])
        for group, verb in {"Load": "run", "Cluster": "job", "Lead": "drill", "Advanced": "sim"}.items():
            self.assertRegex(groups[group], rf"(?m)^  {verb} ")

    def test_help_as_a_command(self):
        self.assertEqual(self.bellwether("help").out, self.bellwether("--help").out)
        self.assertEqual(self.bellwether("help", "run").out, self.bellwether("run", "--help").out)
        self.assertEqual(self.bellwether("help", "cluster", "up").out, self.bellwether("cluster", "up", "--help").out)
        self.assert_refused(self.bellwether("help", "rnu"), "'rnu'", "did you mean 'run'")
        self.assert_refused(self.bellwether("help", "cluster", "memers"), "'cluster memers'", "did you mean 'members'")

    def test_version(self):
        for given in ("--version", "version"):
            self.assertRegex(self.bellwether(given).out, r"^bellwether \d+\.\d+\.\d+\n$")


class Flags(Served):
    usual = response(b'{"ok": true}')

    def test_method_headers_and_body(self):
        self.load(self.server.url + "/path?a=b#fragment", "-n", "1", "-X", "put", "-b", "some text", "-H",
                  "Content-Type: text/plain", "-H", "X-Empty:", "-H", "User-Agent: me")
        request = self.server.requests[0]
        self.assertEqual((request.method, request.target, request.body), ("PUT", "/path?a=b", b"some text"))
        self.assertEqual(request.header("content-type"), "text/plain")
        self.assertEqual(request.header("x-empty"), "")
        self.assertEqual(request.header("user-agent"), "me")
        self.assertEqual(request.header("host"), f"127.0.0.1:{self.server.port}")

    def test_vus_and_duration(self):
        run = self.load(self.server.url, "--vus", "7", "--duration", "1s")
        self.assertEqual(self.server.connections, 7)
        self.assertGreaterEqual(run.result["run"]["elapsed_s"], 1)
        self.assertEqual(run.result["workflows"][0]["vus"], {"peak": 7, "allocated": 7})

    def test_flags_replace_what_a_scenario_says(self):
        text = f"workflows: {{w: {{vus: 1, duration: 1h, steps: {{s: {{http: {{get: '{self.server.url}'}}}}}}}}}}\n"
        run = self.load(text, "--vus", "3", "--duration", "1s")
        self.assertEqual(run.result["workflows"][0]["vus"]["allocated"], 3)
        self.assertLess(run.result["run"]["elapsed_s"], 100)

    def test_a_rate_is_kept(self):
        run = self.load(self.server.url, "--rate", "200/s", "--vus", "100", "--duration", "500ms")
        self.assertEqual(run.totals["scheduled_iterations"], 100)
        self.assertEqual((len(self.server.requests), run.totals["dropped_iterations"]), (100, 0))

    def test_cores_share_the_users(self):
        run = self.load(self.server.url, "--cores", "3", "--vus", "5", "--duration", "1s")
        self.assertEqual(run.result["run"]["generator"]["cores"], 3)
        self.assertEqual(self.server.connections, 5)

    def test_more_cores_than_users(self):
        run = self.load(self.server.url, "--cores", "4", "--vus", "1", "-n", "5")
        self.assertEqual(self.server.connections, 1)
        self.assertEqual(run.result["workflows"][0]["vus"]["allocated"], 1)

    def test_pin(self):
        run = self.load(self.server.url, "--pin", "0", "-n", "5")
        self.assertEqual(run.result["run"]["generator"]["cores"], 1)

    def test_a_seed_repeats_what_is_random(self):
        text = "workflows: {w: {vus: 1, iterations: 3, steps: {s: {http: {get: '" + self.server.url + \
               "/${random(1, 1000000)}/${random_hex(4)}'}}}}}\n"
        taken = []
        for _ in range(2):
            self.server.requests.clear()
            self.load(text, "--seed", "42", "--cores", "1")
            taken.append([request.path for request in self.server.requests])
        self.assertEqual(taken[0], taken[1])
        self.assertEqual(len(set(taken[0])), 3)

    def test_ui_none_is_silent_until_the_summary(self):
        run = self.bellwether("run", self.server.url, "-n", "5", "--ui", "none")
        self.assertEqual(run.err, "")
        self.assertEqual(len(re.findall("REQUESTS", run.out)), 1)

    def test_ui_ci_tells_how_it_goes(self):
        run = self.bellwether("run", self.server.url, "--rate", "50/s", "--duration", "2500ms", "--ui", "ci")
        self.assertRegex(run.err, r"running.*\(\d+ total\)")
        self.assertNotIn("\x1b", run.err + run.out, "no colours where there is no terminal")

    def test_check_describes_what_a_scenario_does_and_sends_nothing(self):
        file = self.write("s.yaml", f"""\
workflows:
  open: {{rate: 50/s, duration: 1s, vus: 3, steps: {{a: {{http: {{get: "{self.server.url}"}}}}}}}}
  closed:
    vus: 3
    duration: 2s
    steps:
      a: {{http: {{get: "{self.server.url}"}}, check: {{status: 200}}}}
      b: {{after: a, http: {{get: "{self.server.url}"}}}}
thresholds: {{http_reqs: [count>1]}}
""")
        run = self.bellwether("check", file)
        self.assertEqual((run.code, run.err), (product.PASS, ""))
        for words in ("s.yaml: ok", "open: 1 step, constant-arrival-rate, 50/s for 1s\n",
                      "closed: 2 steps, constant-vus, 3 VUs for 2s\n", "1 check, 1 threshold\n"):
            self.assertIn(words, run.out)
        self.assertEqual(self.server.connections, 0)


class Limits(product.Test):
    def limited(self, files):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    def test_too_few_descriptors_are_said_before_the_run(self):
        """Only where the limit cannot be raised; root may raise any, so the right to do so is given up first."""
        with Server() as server:
            run = self.bellwether("run", server.url, "--vus", "5000", "--duration", "200ms", "--ui", "none",
                                  preexec_fn=without_privileges(self.limited(1024)))
            self.assert_refused(run, "5128 open files", "1024", "ulimit -n 5128", "fewer virtual users")
            self.assertEqual(server.connections, 0)

    def test_too_few_descriptors_can_be_ignored_and_are_counted(self):
        # A sanitizer needs a descriptor to look at an object's type, and takes it for a wrong one without.
        options = f"suppressions={self.write('suppressions', 'vptr:*')}"
        with Server() as server:
            run = self.load(server.url, "--vus", "200", "--duration", "1s", "--ignore-limits",
                            preexec_fn=without_privileges(self.limited(100)), environment={"UBSAN_OPTIONS": options})
            self.assertIn("warning:", run.err)
            self.assertIn("exhausted", run.errors)
            self.assertIn("ulimit -n", run.out)
            self.assertTrue(run.result["run"]["generator"]["saturated"])
            self.assertGreater(run.statuses[200], 0, "those who got a connection go on")


def without_privileges(before):
    """Drops the capability to raise hard limits, in a child that is about to become the command."""
    import ctypes

    def prepare():
        before()
        libc = ctypes.CDLL(None, use_errno=True)
        cap_sys_resource, pr_capbset_drop, pr_cap_ambient, clear_all = 24, 24, 47, 4
        libc.prctl(pr_cap_ambient, clear_all, 0, 0, 0)
        libc.prctl(pr_capbset_drop, cap_sys_resource, 0, 0, 0)

    return prepare


if __name__ == "__main__":
    product.main()
