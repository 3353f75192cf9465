#!/usr/bin/env python3
"""Workflows in Lua on a cluster: the workers need nothing but what the client sends, and what goes wrong is told."""

from pathlib import Path

from lib import jobs, nodes

EXAMPLE = Path(__file__).parents[2] / "examples/login.lua"


class Scripts(jobs.Test):
    def test_the_example_does_on_two_workers_what_it_does_on_one_machine(self):
        cluster, _ = self.at_work(1, workers=2)
        process, out = cluster.follow("run", EXAMPLE, "--set", f"BASE={cluster.url}", "--vus", "4", "--duration", "10s")
        _, result = jobs.Client(process, out, None).finish()
        self.assertEqual([one["name"] for one in result["generators"]], ["w1", "w2"])
        self.assertEqual(set(result["steps"]), {"shop.login", "shop.list", "shop.pay"})
        # Each step needs what the one before has left in its user.
        [workflow] = result["workflows"]
        done = workflow["iterations"]["completed"]
        self.assertGreater(done, 4)
        for name, step in result["steps"].items():
            self.assertEqual(step["failed"], 0, name)
            self.assertGreaterEqual(step["count"], done, name)
        self.assertEqual({one["fails"] for one in result["checks"]}, {0})
        self.assertIn("there is a token", [one["name"] for one in result["checks"]])
        self.assertEqual(cluster.arrived(), result["totals"]["requests"])

    def test_what_a_script_fails_with_is_told_once_by_all_workers_together(self):
        cluster, _ = self.at_work(1, workers=2)
        script = cluster.write("wrong.lua", f'''
scenario {{defaults = {{http = {{base = "{cluster.url}"}}}}}}
local w = workflow("w", {{vus = 4, duration = "2s", pacing = "100ms"}})
w:step("fine", function() http.get("/json") end)
w:step("wrong", {{after = "fine"}}, function(user) return user.nothing.at_all end)
''')
        process, out = cluster.follow("run", script)
        client = jobs.Client(process, out, None)
        _, result = client.finish()
        self.assertGreater(result["steps"]["w.fine"]["count"], 0)
        self.assertEqual(result["steps"]["w.fine"]["failed"], 0)
        wrong = result["steps"]["w.wrong"]
        self.assertEqual(wrong["errors"], {"script": wrong["count"]})
        told = [one["detail"] for one in result["events"] if one["kind"] == "script"]
        self.assertEqual(len(told), 1, result["events"])
        self.assertIn("w.wrong: wrong.lua:5: cannot look into field 'nothing' (a nil value)", told[0])
        self.assertIn("wrong.lua:5:", client.printed())

    def test_a_worker_whose_loop_a_script_holds_up_says_so(self):
        cluster, _ = self.at_work(1, workers=1)
        script = cluster.write("slow.lua", f'''
scenario {{defaults = {{http = {{base = "{cluster.url}"}}}}}}
local w = workflow("w", {{vus = 1, duration = "6s"}})
w:step("get", function() http.get("/json") end)
w:step("think_hard", {{after = "get"}}, function()
  local till = os.clock() + 0.1
  while os.clock() < till do end
end)
''')
        process, out = cluster.follow("run", script)
        _, result = jobs.Client(process, out, None).finish()
        self.assertGreater(result["steps"]["w.get"]["count"], 0)
        told = [one["detail"] for one in result["events"] if one["kind"] == "generator_saturated"]
        lagged = [text for text in told if text.startswith("worker 'w1': its event loop lagged by")]
        self.assertEqual(len(lagged), 1, result["events"])
        generator = result["run"]["generator"]
        found = [one for one in generator["findings"] if one["cause"] == "loop_lag"]
        self.assertEqual({one["worker"] for one in found}, {"w1"})
        self.assertGreater(found[-1]["to"], found[0]["from"])
        self.assertLessEqual(found[-1]["to"], result["run"]["elapsed_s"] + 1)
        self.assertTrue(generator["saturated"])


if __name__ == "__main__":
    nodes.main()
