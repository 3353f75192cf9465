#!/usr/bin/env python3
"""Workflows in C++: built, run, and refused with few words."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from lib import product
from lib.server import Served, response
from lib.target import Target

# A workflow of two iterations of two users. Each test puts its own in place of what it is about.
HEAD = """\
#include <bellwether/workflow.h>
using namespace bellwether::workflow;
BELLWETHER_SCENARIO("defaults: {http: {base: '@URL@'}}")
class Shop : public Workflow {
 public:
  static constexpr Settings settings{.name = "shop", .executor = "per-vu-iterations", .vus = 2, .iterations = 2};
  static void steps(Steps<Shop>& s) {
"""


def source(declared, members):
    return HEAD + f"{declared}\n  }}\n private:\n{members}\n}};\nBELLWETHER_WORKFLOWS(Shop)\n"


LOOK = source('    s.step("look", &Shop::look);', "  Task<Response> look() { co_return co_await get(url_); }\n"
              '  Url url_{"/look"};')


class Cpp(Served):
    usual = response(b'{"total": 3, "name": "bell"}', headers=["X-Kind: list"])

    # One cache for all: what many tests build alike is compiled once.
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp(prefix="bellwether-cache-")
        cls.addClassCleanup(shutil.rmtree, cls.cache)
        # The compiler that is found first does not optimize: most tests ask what a workflow does, not how fast.
        compiler = Path(cls.cache, "clang++-16")
        compiler.write_text(f'#!/bin/sh\nexec {shutil.which("clang++-16")} "$@" -O0\n', encoding="utf-8")
        compiler.chmod(0o755)

    def start(self, *arguments, environment=None, **more):
        own = {"XDG_CACHE_HOME": self.cache, "PATH": f"{self.cache}:{os.environ['PATH']}"}
        return super().start(*arguments, environment={**own, **(environment or {})}, **more)

    def put(self, text, name="shop.cc"):
        return Path(self.write(name, text.replace("@URL@", self.server.url)))

    def paths(self):
        return sorted(request.path for request in self.server.requests)

    def test_the_example(self):
        target = Target(self, "--cores", "1")
        run = self.load(product.ROOT / "examples/shop.cc", "--set", f"BASE={target.url}", "--vus", "2",
                        "--duration", "1s", environment={"PATH": os.environ["PATH"]})
        self.assertEqual(set(run.result["steps"]), {"shop.login", "shop.list", "shop.pay"})
        self.assertEqual(run.totals["failed"], 0)
        login, listed, pay = (run.result["steps"][f"shop.{name}"]["count"] for name in ("login", "list", "pay"))
        self.assertEqual(run.checks, {"a token": (login, 0), "status": (listed, 0), "something to buy": (listed, 0),
                                      "paid": (pay, 0)})
        self.assertEqual(target.answered(), run.totals["requests"])

    def test_state_is_of_each_user_and_results_of_each_iteration(self):
        run = self.load(self.put(source("""\
    s.step("first", &Shop::first).sets("place");
    s.step("second", &Shop::second).after("first").argument("place", "${first.place}");
    s.step("setup", &Shop::setup);
""", """\
  Task<Response> first() {
    auto answer = co_await get("/first/" + std::to_string(vu()) + "/" + std::to_string(++count_));
    if (kept_.has()) fail("of the iteration before");
    kept_ = static_cast<int>(answer.json("$.total").number()) + static_cast<int>(iteration());
    set("place", std::string(answer.header("x-kind")) + std::to_string(vu()));
    co_return answer;
  }
  Task<Response> second() {
    co_await sleep(1_ms);
    co_return co_await post("/second/" + std::to_string(*kept_) + "/" + std::string(argument("place"))).json("{}");
  }
  Action setup() { co_await get("/setup"); }
  int count_ = 0;
  Value<int> kept_;
""")))
        self.assertEqual(self.paths(), sorted(
            ["/first/1/1", "/first/1/2", "/first/2/1", "/first/2/2", "/second/3/list1", "/second/3/list2",
             "/second/4/list1", "/second/4/list2"] + ["/setup"] * 4))
        self.assertEqual(run.totals["requests"], 8, "what an action sends is not counted")
        self.assertNotIn("shop.setup", [name for name, step in run.result["steps"].items() if step["count"]])

    def test_a_form_may_have_files(self):
        self.load(self.put(source("""\
    s.step("send", &Shop::send);
""", """\
  Task<Response> send() {
    co_return co_await post("/form").multipart({{"title", "bellwether-x"}, {"a\\"b", "\\r\\n", "c\\n.png", "image/png"},
                                               {"raw", "1", "raw.bin"}});
  }
""")))
        request = self.server.requests[0]
        boundary = request.header("content-type").removeprefix("multipart/form-data; boundary=")
        self.assertNotIn(boundary, "bellwether-x")
        parts = request.body.decode().split(f"--{boundary}")
        head = '\r\nContent-Disposition: form-data; name='
        self.assertEqual(parts, [
            "", f'{head}"title"\r\n\r\nbellwether-x\r\n',
            f'{head}"a%22b"; filename="c%0A.png"\r\nContent-Type: image/png\r\n\r\n\r\n\r\n',
            f'{head}"raw"; filename="raw.bin"\r\nContent-Type: application/octet-stream\r\n\r\n1\r\n', "--\r\n"])

    def test_checks_count(self):
        run = self.load(self.put(source("""\
    s.step("look", &Shop::look).checks("three", "four");
""", """\
  Task<Response> look() {
    auto answer = co_await get(url_);
    check("three", answer.json(total_).number() == 3 && answer.json("$.name").text() == "bell");
    check("four", answer.json(total_).number() == 4 || answer.json("$.none"));
    co_return answer;
  }
  Url url_{"/look"};
  Path total_{"$.total"};
""")))
        self.assertEqual(run.checks, {"three": (4, 0), "four": (0, 4)})
        self.assertEqual((run.totals["requests"], run.totals["failed"]), (4, 0), "a failed check fails no request")

    def test_what_throws_is_a_failure_that_is_told(self):
        run = self.load(self.put(source("""\
    s.step("bad", &Shop::bad);
    s.step("worse", &Shop::worse);
    s.step("unnamed", &Shop::unnamed);
""", """\
  Task<Response> bad() {
    auto answer = co_await part();
    co_return answer;
  }
  Task<Response> part() {
    auto answer = co_await get("/bad");
    if (answer.status() == 200) throw std::out_of_range("no such store");
    co_return answer;
  }
  Task<Response> worse() {
    check("of nobody", true);
    co_return co_await get("/worse");
  }
  Task<Response> unnamed() { co_return co_await get("/unnamed").name("of nobody"); }
""").replace("#include", "#include <stdexcept>\n#include", 1)))
        self.assertEqual(run.errors, {"script": 12})
        self.assertEqual((run.totals["requests"], run.totals["failed"]), (16, 12), "a failed step is one more failure")
        told = " ".join(event["detail"] for event in run.result["events"])
        self.assertIn("shop.bad: no such store", told)
        self.assertIn("the step declares no check 'of nobody'", told)
        self.assertIn("the step declares no request 'of nobody': add .requests(\"of nobody\")", told)

    def test_a_response_that_breaks_off_is_none(self):
        target = Target(self)
        run = self.load(self.put(source('    s.step("look", &Shop::look).checks("none");', """\
  Task<Response> look() {
    auto answer = co_await get("/fault/truncate");
    check("none", answer.status() == 0 && !answer.ok() && answer.error() == "truncated" && answer.body().empty() &&
                      answer.header("content-length").empty());
    co_return answer;
  }
""").replace("@URL@", target.url)), code=product.ALL_FAILED)
        self.assertEqual((run.checks, run.errors), ({"none": (4, 0)}, {"truncated": 4}))

    def test_where_the_time_of_a_response_went(self):
        run = self.load(self.put(source('    s.step("look", &Shop::look).checks("timings", "url");', """\
  Task<Response> look() {
    auto response = co_await get("/look");
    const Timings timings = response.timings();
    check("timings", timings.connect.ns > 0 && timings.tls.ns == 0 && timings.wait.ns > 0 &&
                         timings.send.ns + timings.wait.ns + timings.receive.ns <= response.took().ns);
    check("url", response.url() == "@URL@/look");
    co_return response;
  }
""")))
        self.assertEqual(run.checks, {"timings": (2, 2), "url": (4, 0)},
                         "the second iteration of a user keeps its connection")

    def test_each_request_counts_as_the_target_counts_it(self):
        target = Target(self)
        text = source('    s.step("six", &Shop::six).requests("list", "never");', """\
  Task<Response> six() {
    for (int i = 0; i < 4; ++i) co_await get(bad_);
    co_await list_;
    auto last = co_await get("/status/503");
    co_await get(bad_).unmeasured();
    co_return last;
  }
  Url bad_{"/status/500"};
  Request list_ = get("/status/200").name("list");
""").replace("@URL@", target.url).replace(
            '"defaults', '"thresholds: {http_req_failed: [\'rate<0.8\']}\\ndefaults')
        run = self.load(self.put(text), "--cores", "2", code=product.THRESHOLDS)
        totals = run.totals
        self.assertEqual((totals["requests"], totals["failed"], totals["left_out"]), (24, 20, 4))
        self.assertEqual(target.answered(), totals["requests"] + totals["left_out"])
        self.assertEqual({name: (step["count"], step["failed"], step["left_out"], step["status"])
                          for name, step in run.result["steps"].items()},
                         {"shop.six": (20, 20, 4, {"500": 16, "503": 4}), "shop.list": (4, 0, 0, {"200": 4}),
                          "shop.never": (0, 0, 0, {})})

    def test_an_artifact_runs_without_its_source(self):
        built = self.bellwether("build", self.put(LOOK), "-o", "look.bw")
        self.assertEqual(built.code, 0, built)
        (self.folder / "shop.cc").unlink()
        run = self.load(self.folder / "look.bw")
        self.assertEqual(self.paths(), ["/look"] * 4)
        self.assertEqual(run.result["run"]["scenario"], "shop")
        self.assertEqual(self.bellwether("check", "look.bw").code, 0)

    def test_the_same_source_is_compiled_once(self):
        file = self.put(LOOK.replace("/look", "/once"))
        compiler = self.write("clang-once", "#!/bin/sh\necho x >> calls\nexec clang++-16 \"$@\"\n")
        Path(compiler).chmod(0o755)
        for _ in range(2):
            self.assertEqual(self.bellwether("build", file, "--compiler", compiler).code, 0)
        self.assertEqual((self.folder / "calls").read_text(), "x\n")
        self.put(LOOK.replace("/look", "/twice"))
        self.assertEqual(self.bellwether("build", file, "--compiler", compiler).code, 0)
        self.assertEqual((self.folder / "calls").read_text(), "x\nx\n")
        self.assertFalse(list(Path(self.cache).glob("bellwether/build-*")), "what is not needed is gone")

    def test_an_error_of_the_compiler_is_short_and_in_the_line_of_the_user(self):
        for bad, line, words in (
                ("  Task<Response> look() { co_return co_await get(5_s); }", 11, "get"),
                ("  Task<int> look() { co_return 1; }", 8, "a step returns Task<Response>"),
                ("  Task<Response> look() { co_return 1 }", 11, "';'")):
            run = self.bellwether("run", self.put(source('    s.step("look", &Shop::look);', bad)))
            self.assert_refused(run, f"shop.cc:{line}:", words, "it does not compile")
            self.assertLess(len(run.err.splitlines()), 10, run.err)
            self.assertNotIn("note:", run.err)

    def test_wrong_settings_name_their_line(self):
        file = self.put(LOOK.replace("per-vu-iterations", "per-vu-iteration"))
        self.assert_refused(self.bellwether("check", file), f"{file}:6: ", "did you mean 'per-vu-iterations'")
        file = self.put(LOOK.replace("&Shop::look)", '&Shop::look).after("lock")'))
        self.assert_refused(self.bellwether("check", file), f"{file}:8: ", "'lock'")

    def test_what_is_no_artifact_is_refused(self):
        self.write("text.bw", b"\x7fELF and then nothing of the kind")
        self.assert_refused(self.bellwether("run", "text.bw"), "'text.bw' is no compiled workflow")
        other = self.put("int answer() { return 42; }\n", "other.cc")
        self.assert_refused(self.bellwether("run", other), "exports no workflows", "BELLWETHER_WORKFLOWS")
        later = self.put(LOOK.replace("BELLWETHER_WORKFLOWS(Shop)", 'extern "C" __attribute__((visibility("default"))) '
                                      "const bellwether_program bellwether_program_table = {99, 8};"), "later.cc")
        self.assert_refused(self.bellwether("run", later), "version 99", "build it again")

    def test_nobody_else_gets_one(self):
        file = self.put(LOOK)
        self.assertEqual(self.bellwether("build", file).code, 0)
        self.write("client.yaml", "cluster: demo\nseeds: [127.0.0.1:1]\n")
        for what in ("shop.cc", "shop.bw"):
            run = self.bellwether("run", what, "--cluster", self.folder / "client.yaml")
            self.assertEqual(run.code, product.WRONG, run)
            self.assertIn("--sign-key", run.err)
            self.assertNotIn("127.0.0.1:1", run.err, "nobody was asked")

    def test_a_signature_is_told_and_counts_here_too(self):
        for words in (["genpkey", "-algorithm", "ed25519", "-out", "load.key"],
                      ["pkey", "-in", "load.key", "-pubout", "-out", "load.pub"]):
            subprocess.run(["openssl", *words], check=True, cwd=self.folder, capture_output=True)
        der = subprocess.run(["openssl", "pkey", "-pubin", "-in", "load.pub", "-outform", "DER"], check=True,
                             cwd=self.folder, capture_output=True).stdout
        name = hashlib.sha256(der).hexdigest()[:16]
        file = self.put(LOOK)
        built = self.bellwether("build", file, "--sign-key", "load.key")
        self.assertEqual(built.code, 0, built)
        self.assertIn(f"signed by key {name}", built.out)
        self.assertIn(f"shop.bw: signed by key {name}, with bellwether 0.", self.bellwether("check", "shop.bw").out)
        self.load(self.folder / "shop.bw")
        self.assertEqual(self.paths(), ["/look"] * 4)
        artifact = self.folder / "shop.bw"
        whole = artifact.read_bytes()
        artifact.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
        for verb in ("check", "run"):
            self.assert_refused(self.bellwether(verb, "shop.bw"), "the program was changed after it was signed")
        self.assertEqual(self.bellwether("build", file).code, 0)
        self.assertIn("not signed, so it runs on this machine only", self.bellwether("check", "shop.bw").out)

    def test_a_key_that_cannot_sign_is_refused_before_anything_is_compiled(self):
        file = self.put(LOOK)
        self.write("no.key", "nothing\n")
        self.assert_refused(self.bellwether("build", file, "--sign-key", "no.key"), "no private key in PEM")
        self.assert_refused(self.bellwether("build", file, "--sign-key", "none.key"), "none.key")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "open.key"], check=True,
                       cwd=self.folder, capture_output=True)
        (self.folder / "open.key").chmod(0o644)
        self.assert_refused(self.bellwether("build", file, "--sign-key", "open.key"), "chmod 600 'open.key'")
        self.assertFalse((self.folder / "shop.bw").exists())
        self.assert_refused(self.bellwether("run", file, "--sign-key", "open.key"), "goes to a cluster")


if __name__ == "__main__":
    product.main()
