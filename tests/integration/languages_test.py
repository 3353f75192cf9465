#!/usr/bin/env python3
"""One load in YAML, Lua and C++, over executors, cores, users and failures, beside the count of the server."""

import collections
import concurrent.futures
import os
import random
import shutil
import tempfile
from math import ceil
from pathlib import Path

from lib import languages, product
from lib.counted import KINDS, Counted, Plan
from lib.languages import FAILING, STEPS

SEED = int(os.environ.get("BW_LANGUAGES_SEED", "1"))
LANGUAGES = ("yaml", "lua", "cpp")
EXECUTORS = ("constant-vus", "shared-iterations", "per-vu-iterations", "constant-arrival-rate",
             "ramping-arrival-rate")
CORES = (1, 2)
USERS = (1, 2, 5)
RESOLUTION = 0.001  # of the histogram, as a share of a value
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
ERRORS = {"reset": "reset", "half": "truncated", "late": "timeout"}  # by what the server did
NEVER_SEEN = {"refused": {"connect_refused"}, "deaf": {"timeout"}}


class Cell:
    """One load, and how the server fails. `planned`: iterations, where the executor gives their number."""

    timeout_ms = 100  # of requests that get no answer
    limit_ms = 60_000  # of the thresholds: only a request without a response exceeds it

    def __init__(self, draw, executor, cores, users):
        self.words = (executor, cores, users)
        self.executor, self.cores, self.users = self.words
        self.every = {"pay": draw.randint(2, 4), "list": draw.randint(2, 4)}
        self.is_open = "arrival" in executor
        self.load, self.planned = self.draw_load(draw)

    def draw_load(self, draw):
        load = {"executor": self.executor, "vus": self.users}
        if self.executor == "constant-vus":
            return {**load, "duration": "400ms"}, None
        if self.executor == "shared-iterations":
            total = 2 * self.users + draw.randint(1, 3)
            return {**load, "iterations": total}, total
        if self.executor == "per-vu-iterations":
            each = draw.randint(2, 4)
            return {**load, "iterations": each}, each * self.users
        if self.executor == "constant-arrival-rate":
            rate = draw.randint(20, 60)
            return {**load, "rate": f"{rate}/s", "duration": "400ms"}, ceil(rate * 2 / 5)
        begin, top = draw.randint(0, 20), draw.randint(30, 80)
        stages = [{"duration": "200ms", "target": f"{top}/s"}, {"duration": "300ms", "target": f"{begin}/s"}]
        return {**load, "start_rate": f"{begin}/s", "stages": stages}, ceil((begin + top) / 4)

    def policy(self, kind):
        """The server fails every n-th request of a step. It lets all that are to be late wait: a busy machine could
        also let one wait that it answers."""
        return {} if kind == "healthy" else dict.fromkeys(FAILING, 1) if kind == "late" else self.every

    def __str__(self):
        return f"executor, cores, users {self.words}, fails every {self.every}, seed {SEED}: {self.load}"


class HalfLate(Cell):
    """The server lets every second request wait for longer than its timeout of 1 s."""

    timeout_ms = 1000
    limit_ms = 300

    def __init__(self):
        super().__init__(random.Random(SEED), "per-vu-iterations", 1, 4)
        self.load["iterations"] = 1
        self.planned = self.users
        self.every = dict.fromkeys(FAILING, 2)

    def policy(self, kind):
        return self.every if kind == "late" else super().policy(kind)


def pairs():
    """Each pair of an executor, a number of cores and a number of users. Each run has all failures."""
    draw = random.Random(SEED)
    while True:
        drawn = [(executor, draw.choice(CORES), users) for executor in EXECUTORS for users in USERS]
        if (len({cell[:2] for cell in drawn}) == len(EXECUTORS) * len(CORES)
                and len({cell[1:] for cell in drawn}) == len(USERS) * len(CORES)):
            return [Cell(draw, *cell) for cell in drawn]


class Languages(product.Test):
    @classmethod
    def setUpClass(cls):
        cls.server = Counted()
        cls.addClassCleanup(cls.server.close)
        cls.common = tempfile.mkdtemp(prefix="bellwether-languages-")
        cls.addClassCleanup(shutil.rmtree, cls.common)

    def build(self):
        source = Path(self.common) / "cells.cc"
        program = source.with_suffix(".bw")
        if not program.exists():
            source.write_text(languages.program(), encoding="utf-8")
            nothing = languages.environment({}, self.server.urls("none"), "1ms", 1)
            built = self.bellwether("build", source, "-o", program,
                                    environment={"XDG_CACHE_HOME": self.common, **nothing})
            self.assertEqual(built.code, 0, built)
        return program

    def run_one(self, number, cell, language):
        name = f"{self._testMethodName}-{number}-{language}"
        plan = self.server.plans[name] = Plan({kind: cell.policy(kind) for kind in KINDS})
        load = (cell.load, self.server.urls(name), f"{cell.timeout_ms}ms", cell.limit_ms)
        what, environment = self.build(), None
        if language == "cpp":
            environment = languages.environment(*load)
        else:
            what = self.write(f"{name}.{language}", getattr(languages, f"in_{language}")(*load))
        file = self.folder / f"{name}.json"
        run = self.finish(self.start("run", what, "--cores", cell.cores, "--ui", "none", "--out", f"json={file}",
                                     environment=environment), file)
        return run, plan

    def run_all(self, cells):
        """(cell, {language: (run, plan)}) of each cell."""
        self.build()
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            begun = [(cell, {language: pool.submit(self.run_one, number, cell, language) for language in LANGUAGES})
                     for number, cell in enumerate(cells)]
        return [(cell, {language: one.result() for language, one in runs.items()}) for cell, runs in begun]

    # --- what must be true of a run ---

    def assert_each_request_counts_once(self, run, plan, kinds=KINDS):
        self.assertEqual(plan.strays, [], "no connection is used after a failure")
        checks = {check["step"]: (check["passes"], check["fails"]) for check in run.result["checks"]}
        iterations = {workflow["name"]: workflow["iterations"] for workflow in run.result["workflows"]}
        for kind in kinds:
            for name in STEPS:
                step, seen = run.result["steps"][f"{kind}.{name}"], plan.seen[kind, name]
                begun = iterations[kind]["completed"]
                status = {"200": seen["ok"], "500": seen["status"]}
                errors = {ERRORS[what]: seen[what] for what in ERRORS}
                where = f"{kind}.{name}: {dict(seen)}"
                if kind in NEVER_SEEN:
                    self.assertEqual((sum(step["errors"].values()), seen), (begun, {}), where)
                    self.assertLessEqual(set(step["errors"]), NEVER_SEEN[kind], where)
                    errors = step["errors"]
                self.assertEqual(step["status"], {key: count for key, count in status.items() if count}, where)
                self.assertEqual(step["errors"], {key: count for key, count in errors.items() if count}, where)
                self.assertEqual(step["count"], begun, where)
                self.assertEqual(step["failed"], step["count"] - seen["ok"], where)
                self.assertEqual(checks[f"{kind}.{name}"], (seen["ok"], begun - seen["ok"]), where)
        answered = sum(sum(step["status"].values()) for step in run.result["steps"].values())
        self.assertEqual(run.result["metrics"]["orders"]["count"], answered, "steps record what has a response")

    def assert_each_arrival_counts_once(self, run, cell):
        for workflow in run.result["workflows"]:
            kind, counts = workflow["name"], workflow["iterations"]
            self.assertEqual((workflow["status"], counts["interrupted"]), ("completed", 0), kind)
            if cell.is_open:
                self.assertEqual(counts["scheduled"], cell.planned, kind)
                self.assertEqual(counts["completed"] + counts["dropped"], cell.planned, kind)
            else:
                self.assertEqual((counts["scheduled"], counts["dropped"]), (0, 0), kind)
                self.assertEqual(counts["completed"], cell.planned or counts["completed"], kind)
            unfinished = {name: run.result["steps"][f"{kind}.{name}"]["unfinished"] for name in STEPS}
            self.assertEqual(unfinished, {"look": counts["dropped"], "pay": 0, "list": 0}, kind)
        completed = sum(workflow["iterations"]["completed"] for workflow in run.result["workflows"])
        self.assertEqual(run.result["metrics"]["iteration_duration"]["count"], completed)

    def assert_no_figure_is_better_by_failing(self, run, cell):
        begun = {name: step for name, step in run.result["steps"].items() if step["response_ms"]}
        for name, step in begun.items():
            times, count = step["response_ms"], step["response_ms"]["count"]
            self.assertEqual(count, step["count"] + step["unfinished"], name)
            buckets = times.get("histogram", {"buckets": []})["buckets"]
            answered = [low / 1e6 for low, number in buckets for _ in range(number)]
            for figure, share in QUANTILES.items():
                rank = ceil(share * count)
                if rank > len(answered):
                    self.assertIn(figure, times["lower_bounds"], name)
                if answered:
                    alone = answered[ceil(share * len(answered)) - 1]
                    self.assertGreaterEqual(times[figure], alone * (1 - RESOLUTION), f"{name}: {figure}")
        # All of these wait for the timeout, and a healthy one waits longer only on a machine that stalls.
        for name in (f"{kind}.{step}" for kind in ("late", "deaf") for step in FAILING):
            for figure in QUANTILES if name in begun else ():
                at_least = cell.timeout_ms * (1 - RESOLUTION)
                self.assertGreaterEqual(begun[name]["response_ms"][figure], at_least, f"{name}: {figure}")

    def assert_a_threshold_judges_what_has_no_response(self, run):
        self.assertEqual(run.code, product.THRESHOLDS, run)
        for threshold in run.result["thresholds"]:
            name = threshold["metric"].partition("step:")[2].rstrip("}")
            step = run.result["steps"][name]
            if not step["response_ms"]:
                continue  # a user whose machine stalls may begin nothing in the time of a constant number of users
            if threshold["metric"].startswith("http_req_failed"):
                self.assertAlmostEqual(threshold["value"] * step["count"], step["failed"], msg=name)
                self.assertTrue(threshold["ok"], name)
                continue
            lost = step["unanswered"] + step["unfinished"]
            if lost == 0 or lost > 0.1 * step["response_ms"]["count"]:
                self.assertEqual(threshold["ok"], lost == 0, f"{name}: {threshold}")

    def assert_response_is_not_below_service(self, run):
        for name, step in run.result["steps"].items():
            if step["service_ms"]:
                for figure in ("min", "mean", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"):
                    self.assertGreaterEqual(step["response_ms"][figure], step["service_ms"][figure], f"{name} {figure}")
        metrics = run.result["metrics"]
        for figure in ("avg", "min", "med", "max", "p(90)", "p(95)", "p(99)"):
            self.assertGreaterEqual(metrics["http_req_duration"][figure], metrics["http_req_service"][figure], figure)

    def assert_languages_agree(self, cell, runs):
        shapes, requests, counts = [], [], []
        for run, plan in runs.values():
            result = run.result
            shapes.append((
                {name: {key for key, value in metric.items() if value is not None}
                 for name, metric in result["metrics"].items()},
                {name: {key for key, value in step.items() if value is not None}
                 for name, step in result["steps"].items()},
                sorted((check["step"], check["name"]) for check in result["checks"]),
                sorted((one["metric"], one["expression"]) for one in result["thresholds"]),
                [(one["name"], one["executor"], one["load"]) for one in result["workflows"]]))
            requests.append(plan.requests)
            # How often a GET is sent again depends on whose connection the server resets.
            counts.append({name: (step["count"], step["status"], step["errors"])
                           for name, step in result["steps"].items() if name != "reset.list"})
        for language, shape, asked, counted in zip(LANGUAGES[1:], shapes[1:], requests[1:], counts[1:]):
            for mine, first in zip(shape, shapes[0]):
                self.assertEqual(mine, first, f"{language} and yaml")
            self.assertEqual(asked, requests[0], f"{language} and yaml")
            if cell.planned and not cell.is_open:
                self.assertEqual(counted, counts[0], f"{language} and yaml")

    # --- the property ---

    def test_a_threshold_fails_when_half_of_the_requests_time_out(self):
        [(cell, runs)] = self.run_all([HalfLate()])
        for language, (run, plan) in runs.items():
            with self.subTest(f"{language}, {cell}"):
                self.assert_sound(run)
                # Whether the server or the timeout is first with the rest is a question of the machine.
                self.assert_each_request_counts_once(run, plan, set(KINDS) - {"late"})
                judged = {one["metric"]: one["ok"] for one in run.result["thresholds"]}
                for name in FAILING:
                    times = run.result["steps"][f"late.{name}"]["response_ms"]
                    self.assertEqual(times["count"], cell.planned)
                    self.assertFalse(judged[f"http_req_duration{{step:late.{name}}}"], name)
                    self.assertGreaterEqual(times["p95"], cell.timeout_ms * (1 - RESOLUTION), name)
                    self.assertIn("p95", times["lower_bounds"], name)

    def test_counts_and_figures_follow_one_law_in_each_language(self):
        done = collections.Counter()  # by the server
        for cell, runs in self.run_all(pairs()):
            for language, (run, plan) in runs.items():
                with self.subTest(f"{language}, {cell}"):
                    self.assert_sound(run)
                    self.assert_each_request_counts_once(run, plan)
                    self.assert_each_arrival_counts_once(run, cell)
                    self.assert_no_figure_is_better_by_failing(run, cell)
                    self.assert_a_threshold_judges_what_has_no_response(run)
                    self.assert_response_is_not_below_service(run)
                done.update({what for seen in plan.seen.values() for what in seen})
            with self.subTest(str(cell)):
                self.assert_languages_agree(cell, runs)
        for what in ("ok", "status", "resent", *ERRORS):
            self.assertGreaterEqual(done[what], len(LANGUAGES), f"the server seldom does this: {done}")


if __name__ == "__main__":
    product.main()
