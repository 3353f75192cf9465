#!/usr/bin/env python3
"""Each house check is given a small good tree, which it must accept, and bad ones, which it must refuse."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import check_commands  # noqa: E402
import check_docs  # noqa: E402
import check_format  # noqa: E402
import check_includes  # noqa: E402
import check_ledger  # noqa: E402
import links  # noqa: E402
import check_names  # noqa: E402
import check_periods  # noqa: E402
import check_prose  # noqa: E402
import check_scopes  # noqa: E402
import check_sources  # noqa: E402
import check_text  # noqa: E402


class TreeTest(unittest.TestCase):
    """Runs a check on a tree made of the given files."""

    def complaints(self, check, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()):
                return list(check(Path(folder)))

    def accepts(self, check, files):
        self.assertEqual(self.complaints(check, files), [])

    def refuses(self, check, files, *what):
        found = self.complaints(check, files)
        self.assertEqual(len(found), len(what), found)
        for complaint, expected in zip(found, what):
            self.assertIn(expected, complaint)


class Includes(TreeTest):
    LEAF = {"src/core/base/time.h": "", "src/core/runtime/runtime.h": '#include "core/base/time.h"\n',
            "src/load/metrics/window.h": ""}

    def test_inward_includes_are_accepted(self):
        self.accepts(check_includes.check, self.LEAF | {
            "src/load/aggregate/totals.h": '#include <vector>\n#include "load/metrics/window.h"\n',
            "src/cli/run.cc": '#include <CLI/CLI.hpp>\n#include "load/aggregate/totals.h"\n'})

    def test_an_outward_include_is_refused(self):
        self.refuses(check_includes.check, self.LEAF | {"src/core/base/bytes.h": '#include "core/runtime/runtime.h"\n'},
                     "base may not include runtime", "rooms include each other in a circle: base, runtime")

    def test_a_sideways_include_of_pure_rooms_is_refused(self):
        self.refuses(check_includes.check, self.LEAF | {"src/load/plan/plan.h": '#include "load/metrics/window.h"\n'},
                     "plan may not include metrics")

    def test_a_district_includes_only_those_below_it(self):
        tree = {"src/cluster/net/a.h": "", "src/jobs/manager/b.h": '#include "cluster/net/a.h"\n'}
        self.accepts(check_includes.check, tree)
        self.refuses(check_includes.check, tree | {"src/cluster/net/a.h": '#include "jobs/manager/b.h"\n'},
                     "district cluster may not include jobs", "rooms include each other in a circle: manager, net")

    def test_rooms_in_a_circle_are_refused(self):
        self.assertEqual(check_includes.cycles({"a": {"b"}, "b": {"c"}}, "rooms"), [])
        self.assertEqual(check_includes.cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}, "rooms"),
                         ["rooms include each other in a circle: b, c"])

    def test_a_codec_must_not_see_the_client_beside_it(self):
        client, codec = "src/core/http1/client.h", "src/core/http1/parser.h"
        tree = self.LEAF | {client: '#include "core/http1/parser.h"\n#include "core/runtime/runtime.h"\n', codec: ""}
        self.accepts(check_includes.check, tree)
        self.refuses(check_includes.check, tree | {codec: '#include "core/http1/client.h"\n'},
                     "http1 may not include client", "rooms include each other in a circle: client, http1")

    def test_a_pure_room_sees_no_clock_and_no_socket(self):
        self.refuses(check_includes.check, {"src/load/metrics/a.cc": "#include <chrono>\n#include <sys/socket.h>\n"},
                     "<chrono>", "<sys/socket.h>")

    def test_third_party_headers_stay_in_sources(self):
        self.refuses(check_includes.check,
                     {"src/load/report/reports.h": "#include <nlohmann/json.hpp>\n#include <regex>\n"},
                     "third-party", "too heavy")

    def test_tests_may_look_everywhere_but_nothing_may_look_at_tests(self):
        self.accepts(check_includes.check,
                     self.LEAF | {"src/core/base/a_test.cc": '#include "core/runtime/runtime.h"\n'})
        tree = {"src/core/base/a.cc": '#include "core/base/fake_testing.h"\n', "src/core/base/fake_testing.h": ""}
        self.refuses(check_includes.check, tree, "for tests only")

    def test_wire_messages_stay_in_sources_of_the_rooms_that_may_see_them(self):
        message = {"proto/hello.proto": 'syntax = "proto3";\n'}
        include = '#include "proto/hello.pb.h"\n'
        self.accepts(check_includes.check, message | {"src/load/codec/a.cc": include})
        self.refuses(check_includes.check, message | {"src/load/codec/a.h": include}, "belongs in a .cc file")
        self.refuses(check_includes.check, message | {"src/load/plan/a.cc": include},
                     "plan may not include wire messages")
        self.refuses(check_includes.check, {"src/load/codec/a.cc": include}, "there is no message file")

    def test_unknown_rooms_and_headers_are_refused(self):
        self.refuses(check_includes.check, {"src/attic/a.cc": "", "src/core/base/a.cc": '#include "time.h"\n'},
                     "no room", 'there is no "time.h"')


class Text(TreeTest):
    def test_ordinary_code_is_accepted(self):
        self.accepts(check_text.check, {"src/core/base/a.cc": "int a;\n",
                                        "src/cli/b.cc": "void f() { std::cout << 1; }\n",
                                        "src/core/runtime/c_test.cc": "co_await runtime.sleep(second);\n"})

    def test_tabs_blanks_and_long_lines_are_refused(self):
        self.refuses(check_text.check, {"src/core/base/a.cc": "\tint a;\nint b; \n" + "x" * 121 + "\n"},
                     "a tab", "trailing blanks", "121 columns")

    def test_a_file_that_is_too_long_is_refused(self):
        self.accepts(check_text.check, {"src/core/base/a.cc": "\n" * 800})
        self.refuses(check_text.check, {"src/core/base/a.cc": "\n" * 801}, "801 lines")

    def test_marks_of_unfinished_work_are_refused(self):
        for mark in ("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"):
            self.refuses(check_text.check, {"src/core/base/a.h": f"// {mark}: later\n"}, mark)

    def test_printing_is_for_the_rooms_that_talk_to_people(self):
        self.refuses(check_text.check, {"src/load/plan/a.cc": "std::cout << 1;\n"}, "std::cout")

    def test_a_test_that_sleeps_is_refused(self):
        for sleep in ("std::this_thread::sleep_for(a)", "  sleep(1);", "::sleep(1);", "usleep(5)"):
            self.refuses(check_text.check, {"src/core/base/a_test.cc": sleep + "\n"}, "sleep")


class Sources(TreeTest):
    def test_a_listed_source_is_accepted(self):
        self.accepts(check_sources.check, {"src/core/base/CMakeLists.txt": "module(NAME base SOURCES a.cc deep/b.cc)",
                                           "src/core/base/a.cc": "", "src/core/base/deep/b.cc": ""})

    def test_a_forgotten_source_is_refused(self):
        self.refuses(check_sources.check, {"src/core/base/CMakeLists.txt": "module(NAME base SOURCES aa.cc) # a.cc",
                                           "src/core/base/a.cc": ""}, "src/core/base/a.cc")


class Links(unittest.TestCase):
    ROOMS = {"bw_base": ("base.a", []), "bw_wire": ("wire.a", ["bw_base"]), "bw_node": ("node.a", ["bw_wire"])}
    DEFINED = {"bw_base": {"time"}, "bw_wire": {"frame"}, "bw_node": {"run"}}

    def complaints(self, **needed):
        return links.check(self.ROOMS, self.DEFINED, {"bw_base": set(), "bw_wire": set(), "bw_node": set()} |
                                 {f"bw_{room}": symbols for room, symbols in needed.items()})

    def test_dependencies_and_theirs_are_accepted_and_so_is_what_no_room_defines(self):
        self.assertEqual(self.complaints(node={"frame", "time", "malloc"}, wire={"time"}), [])

    def test_a_symbol_of_another_room_is_refused(self):
        found = self.complaints(wire={"run"}, base={"frame"})
        self.assertEqual(len(found), 2)
        self.assertIn("bw_base needs bw_wire", found[0])
        self.assertIn("bw_wire needs bw_node", found[1])


class Names(TreeTest):
    LISTING = {"src/core/base/CMakeLists.txt": "module(NAME base\n SOURCES a.cc b.cc\n TESTS c_test.cc)\n"}

    def sources(self, a, b):
        return self.LISTING | {"src/core/base/a.cc": f"namespace {{\n{a}\n}}  // namespace\n",
                               "src/core/base/b.cc": f"namespace {{\n{b}\n}}  // namespace\n"}

    def test_names_that_differ_overloads_and_the_same_alias_are_accepted(self):
        self.accepts(check_names.check, self.sources("constexpr int kA = 1;", "constexpr int kB = 1;"))
        self.accepts(check_names.check, self.sources("int size(int a) {", "int size(const A& a) {"))
        self.accepts(check_names.check, self.sources("using J = a::J;", "using J = a::J;"))

    def test_the_same_name_in_two_sources_is_refused(self):
        for a, b in (("constexpr int kA = 1;", "constexpr char kA[] = {1};"), ("struct A {", "class A {"),
                     ("int size(int a) {", "bool size(int b) {")):
            self.refuses(check_names.check, self.sources(a, b), "also names something in")

    def test_an_alias_with_two_meanings_is_refused(self):
        self.refuses(check_names.check, self.sources("using J = a::J;", "using J = b::J;"), "'J' means something else")


class Format(TreeTest):
    STYLE = {".clang-format": "BasedOnStyle: Google\n"}

    def test_only_formatted_code_is_accepted(self):
        self.accepts(check_format.check, self.STYLE | {"src/a.cc": "int a = 1;\n"})
        self.refuses(check_format.check, self.STYLE | {"src/a.cc": "int   a=1;\nint  b;\n"}, "src/a.cc:1")


class Periods(TreeTest):
    def test_a_period_that_is_drawn_is_accepted(self):
        self.accepts(check_periods.check, {"src/cluster/net/a.cc": """
next_ = now + refresh_.next();
next_ = now_ + jittered(settings_.sync_interval);
next_ = now_ + prng_.between(Duration(), settings_.gossip_interval);
if (now - last_ < settings_.sync_interval) return;
until_ = now + settings_.timeout;  // and no interval
"""})

    def test_a_bare_period_is_refused(self):
        self.refuses(check_periods.check, {"src/cluster/net/a.cc": """
next_ = now + settings_.refresh;
next_ = now_ + interval;
next_ = now + config_.timing.heartbeat;
renew_at_ = now + config_.renew_every;
co_await runtime_.sleep(settings_.sync_interval, cancel);
"""}, "'refresh' is a bare period", "'interval' is", "'heartbeat' is", "'renew_every' is", "'sync_interval' is")

    def test_other_rooms_and_tests_may_have_one(self):
        self.accepts(check_periods.check, {"src/lead/a.cc": "next_ = now + period;\n",
                                           "src/cluster/a_test.cc": "next_ = now + period;\n"})


class Scopes(TreeTest):
    def test_what_is_joined_is_accepted(self):
        self.accepts(check_scopes.check, {"src/core/runtime/a.cc": "std::coroutine_handle<> waiting;\n",
                                          "src/cluster/a.cc": "scope_.spawn(run(this));  // no detach() here\n",
                                          "src/core/journal/journal.cc": "thread_ = std::thread([this] {\n",
                                          "src/core/base/a.cc": "n = std::thread::hardware_concurrency();\n",
                                          "src/core/base/a_test.cc": "std::thread(work).detach();\n"})

    def test_what_goes_on_by_itself_is_refused(self):
        self.refuses(check_scopes.check, {"src/cluster/a.cc": """
std::coroutine_handle<> mine;
auto thread = std::thread([] {});
auto later = std::async(work);
worker.detach();
"""}, "a.cc:2: a coroutine", "a.cc:3: a thread", "a.cc:4: a thread", "a.cc:5: whatever")


class Docs(TreeTest):
    GOOD = {"dev": "verb_run() { :; }\n", "docs/a.md": "# One thing\n", "src/core/base/time.h": "",
            "docs/contributing/folders.md": "`docs/` `docs/contributing/` `src/core/`\n",
            "src/core/README.md": "| `base` |\n",
            "README.md": "[a](docs/a.md#one-thing) [b](https://example.org) `src/core/base/time.h`\n"
                         "```sh\n./dev run  # demo\n```\n"}

    def test_true_documents_are_accepted(self):
        self.accepts(check_docs.check, self.GOOD)

    def test_links_that_lead_nowhere_are_refused(self):
        self.refuses(check_docs.check, self.GOOD | {"docs/b.md": "[x\ny](none.md)\n[y](a.md#two)\n"},
                     "none.md leads nowhere", "no heading for #two")

    def test_paths_that_do_not_exist_are_refused(self):
        tree = self.GOOD | {"docs/b.md": "see `src/core/base/gone.h`\n"}
        self.refuses(check_docs.check, tree, "there is no src/core/base/gone.h")

    def test_a_page_that_is_too_long_is_refused(self):
        self.accepts(check_docs.check, self.GOOD | {"docs/b.md": "a\n" * 300})
        self.refuses(check_docs.check, self.GOOD | {"docs/b.md": "a\n" * 301}, "301 lines; at most 300")

    def test_a_folder_that_nobody_explains_is_refused(self):
        self.refuses(check_docs.check, self.GOOD | {"src/attic/a.cc": ""}, "nothing about `src/attic/`")
        self.refuses(check_docs.check, self.GOOD | {"src/core/attic/a.cc": ""},
                     "src/core/README.md: nothing about `attic`")

    def test_the_ledger_may_name_what_is_to_come(self):
        tree = self.GOOD | {"docs/contributing/ledger/a.md": "`src/later/x.h`\n",
                            "docs/contributing/folders.md": "`docs/` `docs/contributing/` `src/core/` "
                                                            "`docs/contributing/ledger/`\n"}
        self.accepts(check_docs.check, tree)

    def test_a_verb_that_does_not_exist_is_refused(self):
        self.refuses(check_docs.check, self.GOOD | {"README.md": "```sh\n./dev fly\n```\n"}, "no verb 'fly'")


class Commands(TreeTest):
    CLI = {"docs/reference/cli/run.md": "# bellwether run\n\n| `-u,--vus N` | users |\n",
           "docs/reference/cli/job.md": "# bellwether job\n\n## bellwether job list\n\n| `--json` | JSON |\n"}

    def page(self, text):
        return self.CLI | {"docs/a.md": text}

    def test_what_exists_is_accepted(self):
        self.accepts(check_commands.check, self.page("`bellwether run -u 3 --vus 4`, `--json`\n"
                                                     "```sh\n./dev run -- job list --json | jq --raw\n```\n"))

    def test_what_does_not_exist_is_refused(self):
        for text, complaint in (("`bellwether fly`", "there is no command 'fly'"),
                                ("```sh\nbellwether job fly x\n```", "there is no command 'job fly'"),
                                ("```sh\nX=1 ./bellwether run a.yaml \\\n    --wings 2\n```",
                                 "'run' has no option '--wings'"),
                                ("`--wings`", "no command has the option '--wings'")):
            self.refuses(check_commands.check, self.page(text + "\n"), complaint)

    def test_pages_about_other_tools_name_their_options(self):
        self.accepts(check_commands.check, self.CLI | {"docs/load/guides/from-k6.md": "`--wings`\n"})

    def test_missing_pages_are_refused(self):
        self.refuses(check_commands.check, {"docs/a.md": "a\n"}, "no pages")


class Prose(TreeTest):
    def test_plain_words_and_quotations_are_accepted(self):
        self.accepts(check_prose.check, {"docs/a.md": "The leader writes. `whoever`\n```\nwhoever\n```\n",
                                         "src/a.h": "int whoever;  // The user.\n"})

    def test_riddles_are_refused(self):
        self.refuses(check_prose.check, {"docs/a.md": "a\n\nWhoever leads writes.\n"}, "docs/a.md:3: 'Whoever'")
        self.refuses(check_prose.check, {"src/a.h": "int a;  // the usual one\n"}, "src/a.h:1: 'the usual one'")


class Ledger(TreeTest):
    CODE = {"src/core/base/CMakeLists.txt": "module(NAME base)",
            "src/core/base/a_test.cc": "TEST(Suite, it_holds) {}\n"}

    def row(self, *rows):
        return self.CODE | {"docs/contributing/ledger/load.md": "".join(f"| {row} |\n" for row in rows)}

    def test_rows_with_an_existing_proof_are_accepted(self):
        self.accepts(check_ledger.check, self.row("ST-1 | a | built | `Suite.it_holds`",
                                                  "ST-2a | b | partial | `unit.base`", "ST-3 | c | not yet | "))

    def test_a_built_row_without_a_proof_is_refused(self):
        self.refuses(check_ledger.check, self.row("ST-1 | a | built | surely"), "names no proof")

    def test_a_proof_that_does_not_exist_is_refused(self):
        tree = self.row("ST-1 | a | partial | `Suite.gone`")
        self.refuses(check_ledger.check, tree, "Suite.gone does not exist")

    def test_unknown_statuses_and_double_rows_are_refused(self):
        tree = self.row("ST-1 | a | soon | ", "ST-1 | b | not yet | ")
        self.refuses(check_ledger.check, tree, "'soon'", "is also at")


if __name__ == "__main__":
    unittest.main()
