#!/usr/bin/env python3
"""A wrong scenario is refused: the place, what was found, what was expected, code 104, and not one request sent."""

from pathlib import Path

from lib import product
from lib.server import Server, response

# A scenario that is right. Each case below spoils it by replacing one text with another.
GOOD = """\
env:
  BASE: "@URL@"
workflows:
  browse:
    vus: 1
    duration: 200ms
    steps:
      list:
        http: {get: "${BASE}/list"}
        check: {status: 200}
        extract: {token: {json: $.token}}
      item:
        after: [list]
        http: {get: "${BASE}/item", headers: {Authorization: "${token}"}}
thresholds:
  http_req_failed: ["rate<0.01"]
"""

# name: (text, its replacement, line, words of the message)
CASES = {
    "an unknown key": ("duration:", "durration:", 6, "unknown key 'durration'", "expected:", "did you mean 'duration'"),
    "an unknown key at the top": ("thresholds:", "treshold:", 15, "unknown key 'treshold'", "did you mean 'threshold"),
    "a wrong type": ("vus: 1", "vus: [1]", 5, "vus", "expected", "number"),
    "a text for a number": ("vus: 1", "vus: many", 5, "'many'", "number"),
    "a negative number": ("vus: 1", "vus: -1", 5, "-1"),
    "a fraction of a user": ("vus: 1", "vus: 1.5", 5, "1.5", "whole number"),
    "no users": ("vus: 1", "vus: 0", 5, "vus"),
    "too many users": ("vus: 1", "vus: 99999999999999999999", 5, "99999999999999999999"),
    "no unit": ("200ms", "200", 6, "200", "unit"),
    "a wrong unit": ("200ms", "200sec", 6, "200sec", "expected"),
    "no duration": ("    duration: 200ms\n", "", 4, "'duration' is missing"),
    "no workflows": (GOOD[GOOD.index("workflows:"):], "", 1, "'workflows' is missing"),
    "no steps": (GOOD[GOOD.index("    steps:"):], "", 4, "'steps' is missing"),
    "a key given twice": ("    vus: 1\n", "    vus: 1\n    vus: 2\n", 6, "'vus' is given twice"),
    "a cycle": ("      list:\n", "      list:\n        after: item\n", 8, "cycle", "list", "item"),
    "a step after itself": ("after: [list]", "after: [item]", 12, "cycle", "item"),
    "an unknown step": ("after: [list]", "after: [lits]", 13, "lits", "did you mean 'list'"),
    "an unknown name": ("${token}", "${tokken}", 14, "unknown name 'tokken'", "did you mean 'token'"),
    "an unknown step's value": ("${token}", "${lits.token}", 14, "unknown step 'lits'", "did you mean 'list'"),
    "a template without end": ("${token}", "${token", 14, "${token"),
    "a value of a step that need not have ended":
        ("        after: [list]\n", "", 13, "'list'", "after"),
    "no scheme": ("${BASE}/list", "localhost/list", 9, "localhost/list", "http://"),
    "an impossible port": ("${BASE}/list", "http://127.0.0.1:99999/", 9, "99999"),
    "a missing file": ("get: \"${BASE}/list\"", "post: \"${BASE}/list\", body: {file: nowhere.json}", 9,
                       "nowhere.json", "No such file"),
    "a wrong regular expression": ("{json: $.token}", "{regex: \"(\"}", 11, "regular expression"),
    "a wrong path": ("$.token", "'$..token['", 11, "JSON path"),
    "a wrong status": ("status: 200", "status: fine", 10, "fine"),
    "an unknown metric": ("http_req_failed", "http_req_faild", 16, "http_req_faild", "did you mean 'http_req_failed'"),
    "a wrong threshold": ("rate<0.01", "rate<<0.01", 16, "rate<<0.01"),
    "an aggregation that does not fit": ("rate<0.01", "p(95)<10", 16, "p(95)", "http_req_failed"),
    "an unknown executor": ("    vus: 1\n", "    vus: 1\n    executor: constant-vuss\n", 6, "constant-vuss",
                            "did you mean 'constant-vus'"),
    "a rate without arrivals": ("    vus: 1\n", "    vus: 1\n    executor: constant-vus\n    rate: 5/s\n", 7, "rate"),
    "a header that is not the user's": ("Authorization:", "Transfer-Encoding:", 14, "'Transfer-Encoding' cannot be"),
    "a header given twice": ('Authorization: "', 'x-a: 1, X-A: "', 14, "the header 'X-A' is given twice"),
    "two methods": ("get: \"${BASE}/list\"", "get: \"${BASE}/list\", post: \"${BASE}/list\"", 9, "post"),
    "neither request nor action": ("        http: {get: \"${BASE}/list\"}\n", "", 8, "http", "action"),
    "broken YAML": ("[list]", "[list", None, "this is not YAML"),
    "a tab": ("    vus: 1", "\tvus: 1", 5, "this is not YAML"),
    "a second document": ("thresholds:", "---\nthresholds:", None, "document"),
    "an environment that is not set": ("  BASE:", "  NEEDED:\n  BASE:", 2, "NEEDED", "--set"),
    "an environment of the wrong type": ("vus: 1", "vus: \"${BASE}\"", 5, "number"),
}


class Refusal(product.Test):
    def setUp(self):
        super().setUp()
        self.server = Server(lambda request, connection: response(b'{"token": "t"}'))
        self.addCleanup(self.server.close)
        self.good = GOOD.replace("@URL@", self.server.url)

    def refuse(self, file, *words, arguments=(), **more):
        """Both commands refuse it in the same words, and send nothing."""
        for verb in ("check", "run"):
            run = self.bellwether(verb, file, *arguments, **more)
            self.assert_refused(run, *words)
        self.assertEqual(self.server.connections, 0, "something was sent")
        return run


class WrongScenario(Refusal):
    def test_the_scenario_that_is_spoiled_below_is_right(self):
        run = self.load(self.good)
        self.assertGreater(len(self.server.requests), 0)
        self.assertEqual(run.totals["requests"], len(self.server.requests))

    def test_each_error_has_its_place_and_a_remedy(self):
        for name, (text, replacement, line, *words) in CASES.items():
            with self.subTest(name):
                self.assertEqual(self.good.count(text), 1, f"the case '{name}' must replace exactly one text")
                file = self.write("shop.yaml", self.good.replace(text, replacement))
                run = self.refuse(file, *words, "nothing was sent")
                place = rf"^{file}:{line or '[0-9]+'}:[0-9]+: "
                self.assertRegex(run.err.splitlines()[0], place)

    def test_many_errors_are_said_at_once(self):
        file = self.write("shop.yaml", self.good.replace("vus:", "vuus:").replace("check:", "chek:"))
        run = self.refuse(file, "unknown key 'vuus'", "unknown key 'chek'")
        self.assertIn("errors; nothing was sent", run.err)


class WrongFile(Refusal):
    def test_no_such_file(self):
        self.refuse(str(self.folder / "nowhere.yaml"), "nowhere.yaml", "No such file")

    def test_a_folder(self):
        self.refuse(str(self.folder), "folder")

    def test_an_empty_file(self):
        self.refuse(self.write("empty.yaml", ""), "empty.yaml:1:1", "the scenario is empty", "'workflows'")

    def test_a_comment_only(self):
        self.refuse(self.write("empty.yaml", "# nothing\n"), "the scenario is empty")

    def test_bytes_that_are_no_text(self):
        self.refuse(self.write("binary.yaml", bytes(range(256)) * 16), "binary.yaml", "not")

    def test_the_command_itself(self):
        self.refuse(product.binary, "larger than")

    def test_a_huge_file(self):
        self.refuse(self.write("huge.yaml", "a: 1\n" * 400_000), "1 MiB")

    def test_nested_too_deep(self):
        self.refuse(self.write("deep.yaml", "[" * 100_000), "deep.yaml:", "64")

    def test_a_list_at_the_top(self):
        self.refuse(self.write("list.yaml", "- workflows\n"), "list.yaml:1:1", "map")

    def test_aliases_that_multiply(self):
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
        self.refuse(self.write("laughs.yaml", "\n".join(lines)), "laughs.yaml:")


class WrongValues(Refusal):
    def with_users_from_outside(self):
        text = self.good.replace("env:\n", "env:\n  VUS: 1\n").replace("vus: 1", 'vus: "${VUS}"')
        return self.write("shop.yaml", text)

    def test_a_set_without_a_value(self):
        self.refuse(self.write("shop.yaml", self.good), "--set 'BASE'", "NAME=VALUE", arguments=("--set", "BASE"))

    def test_a_set_that_nothing_mentions(self):
        self.refuse(self.write("shop.yaml", self.good), "BAES", "did you mean 'BASE'",
                    arguments=("--set", "BAES=http://127.0.0.1/"))

    def test_a_set_that_spoils_a_url(self):
        self.refuse(self.write("shop.yaml", self.good), "shop.yaml:", "which is 'not-a-url/list'",
                    arguments=("--set", "BASE=not-a-url"))

    def test_a_set_of_the_wrong_type(self):
        file = self.with_users_from_outside()
        self.assertEqual(self.bellwether("check", file).code, product.PASS)
        self.refuse(file, "shop.yaml:6:", "number", arguments=("--set", "VUS=plenty"))

    def test_an_environment_variable_of_the_wrong_type(self):
        file = self.with_users_from_outside()
        self.refuse(file, "shop.yaml:6:", "number", environment={"VUS": "plenty"})

    def test_set_wins_over_the_environment_and_that_over_the_file(self):
        file = self.write("shop.yaml", self.good.replace('/list"', '/${WHO}"').replace("env:", "env:\n  WHO: file"))
        self.load(Path(file))
        self.load(Path(file), environment={"WHO": "environment"})
        self.load(Path(file), "--set", "WHO=set", environment={"WHO": "environment"})
        self.assertLessEqual({"/file", "/environment", "/set"}, self.server.paths())
        self.assertEqual(len(self.server.paths() - {"/item"}), 3)


if __name__ == "__main__":
    product.main()
