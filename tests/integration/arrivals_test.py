#!/usr/bin/env python3
"""Arrivals at a fixed rate: each scheduled one is issued, late or dropped, and no target can hide a stall."""

import threading
import time

from lib import product
from lib.daemon import until
from lib.server import Server, response

STALL = 0.35


class Stalling(Server):
    """Answers at once, until the request of number `after`: then nobody gets an answer for STALL seconds, and until
    `crowd` of them wait for one."""

    def __init__(self, after):
        self.after = after
        self.crowd = 0
        self.over = None
        self.begins = threading.Lock()
        super().__init__(self.answer)

    def answer(self, request, connection):
        with self.begins:
            if self.over is None and len(self.requests) >= self.after:
                self.over = time.monotonic() + STALL
        if self.over is not None:
            time.sleep(max(0, self.over - time.monotonic()))
            until("a crowd", lambda: self.most_inside >= self.crowd)
        return response(b"ok")


def scenario(url, more="", thresholds=""):
    return f"""\
workflows:
  open:
    rate: 400/s
    duration: 750ms
    {more}
    steps: {{get: {{http: {{get: "{url}"}}}}}}
thresholds: {{{thresholds}}}
"""


class Arrivals(product.Test):
    def setUp(self):
        super().setUp()
        self.server = Stalling(after=60)
        self.addCleanup(self.server.close)

    def counts(self, run):
        return run.result["workflows"][0]["iterations"]

    def test_a_stall_with_users_enough_is_in_the_response_times(self):
        self.server.crowd = 51
        run = self.load(scenario(self.server.url, "vus: 300"))
        counts = self.counts(run)
        self.assertEqual((counts["scheduled"], counts["dropped"]), (300, 0))
        self.assertEqual(len(self.server.requests), 300)
        self.assertGreater(self.server.most_inside, 50, "arrivals go on while nothing is answered")
        response_ms = run.result["steps"]["open.get"]["response_ms"]
        self.assertGreater(response_ms["max"], STALL * 900)
        self.assertGreater(response_ms["p90"], STALL * 200, "a good third of the arrivals met the stall")
        self.assertEqual(run.result["metrics"]["http_req_duration"]["max"], response_ms["max"])

    def test_a_stall_with_too_few_users_drops_arrivals_and_counts_them(self):
        run = self.load(scenario(self.server.url, "vus: 10"), code=(product.SCHEDULE, product.SATURATED))
        counts, step = self.counts(run), run.result["steps"]["open.get"]
        saturated = run.result["run"]["generator"]["saturated"]
        self.assertEqual(run.code, product.SATURATED if saturated else product.SCHEDULE)
        self.assertEqual(counts["scheduled"], 300)
        self.assertGreater(counts["dropped"], 50)
        self.assertEqual(counts["on_time"] + counts["late"] + counts["dropped"], 300)
        self.assertEqual(len(self.server.requests), counts["on_time"] + counts["late"])
        self.assertEqual(step["unfinished"], counts["dropped"])
        self.assertEqual(step["response_ms"]["count"], 300, "who was dropped is in the percentiles")
        self.assertEqual(step["service_ms"]["count"], step["count"])
        self.assertGreater(step["response_ms"]["p90"], STALL * 200)
        self.assertLess(step["service_ms"]["p90"], step["response_ms"]["p90"])
        self.assertLessEqual(self.server.most_inside, 10)
        self.assertIn("the schedule was not achieved", " ".join(run.out.split()))
        self.assertIn("lower bounds", run.out)

    def test_arrivals_that_may_wait_are_late_and_not_dropped(self):
        run = self.load(scenario(self.server.url, "vus: 10, max_wait: 30s".replace(", ", "\n    ")))
        counts = self.counts(run)
        self.assertEqual((counts["scheduled"], counts["dropped"]), (300, 0))
        self.assertGreater(counts["late"], 50)
        self.assertEqual(len(self.server.requests), 300)
        self.assertGreater(run.result["steps"]["open.get"]["response_ms"]["p90"], STALL * 200)

    def test_more_users_are_made_up_to_the_maximum(self):
        self.server.crowd = 51
        run = self.load(scenario(self.server.url, "vus: {preallocated: 2, max: 300}"))
        users = run.result["workflows"][0]["vus"]
        self.assertGreater(users["allocated"], 50)
        self.assertLessEqual(users["allocated"], 300)
        self.assertEqual(self.counts(run)["dropped"], 0)

    def test_a_threshold_on_drops_judges_in_place_of_the_exit_code(self):
        self.load(scenario(self.server.url, "vus: 10", "dropped_iterations: [count<1]"), code=product.THRESHOLDS)
        self.server.over = None
        self.load(scenario(self.server.url, "vus: 10", "dropped_iterations: [count>=0]"))

    def test_the_closed_model_says_what_it_cannot_see(self):
        run = self.load(self.server.url, "--vus", "5", "--duration", "900ms")
        self.assertIn("coordinated omission", run.out)
        self.assertEqual(run.totals["scheduled_iterations"], 0)
        self.assertEqual(run.totals["requests"], len(self.server.requests))

    def test_a_target_that_never_answers(self):
        with Server(lambda request, connection: connection.wait_for_close()) as server:
            run = self.load(scenario(server.url, "vus: 20\n    graceful_stop: 100ms"),
                            code=product.ALL_FAILED)
        counts = self.counts(run)
        self.assertEqual((counts["on_time"] + counts["late"], counts["interrupted"]), (20, 20))
        self.assertEqual(run.errors, {"interrupted": 20})
        self.assertEqual(counts["dropped"], 280)

    def test_rates_are_kept_however_many_cores_share_them(self):
        for cores in ("1", "3"):
            run = self.load(scenario(self.server.url, "vus: 300"), "--rate", "97/s", "--duration", "1s", "--cores",
                            cores)
            self.assertEqual(run.totals["scheduled_iterations"], 97)

    def test_a_rate_below_one_a_second(self):
        run = self.load(scenario(self.server.url, "vus: 5"), "--rate", "30/m", "--duration", "900ms")
        self.assertEqual(run.totals["scheduled_iterations"], 1)
        self.assertEqual(len(self.server.requests), 1)
        self.assertLessEqual(run.totals["rate_per_s"], 1 / 0.9, "it lasts as long as planned")


if __name__ == "__main__":
    product.main()
