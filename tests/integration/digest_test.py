#!/usr/bin/env python3
"""Digest authentication against Apache httpd."""

from lib import product
from lib.apache import DigestApache


class Digest(product.Test):
    def scenario(self, url, user="ann", password="se cr\\\"et", iterations=5, status=200):
        return f"""\
defaults: {{http: {{base: "{url}", auth: {{digest: {{user: "{user}", password: "{password}"}}}}}}}}
workflows:
  w:
    executor: per-vu-iterations
    vus: 2
    iterations: {iterations}
    steps:
      a: {{http: {{get: "/page?n=${{iteration}}"}}, check: {{status: {status}}}}}
"""

    def test_a_user_answers_the_challenge_once_and_goes_on(self):
        with DigestApache(self.folder / "apache", {"ann": 'se cr"et'}) as apache:
            run = self.load(self.scenario(apache.url))
            asked = apache.requests(12)
        self.assertEqual((run.totals["requests"], run.totals["failed"]), (10, 0))
        self.assertEqual(run.statuses, {200: 10})
        self.assertEqual([status for _, status in asked].count(401), 2, "one for each user")
        self.assertEqual(len(asked), 12)

    def test_a_wrong_password_is_a_401(self):
        with DigestApache(self.folder / "apache", {"ann": "x"}) as apache:
            run = self.load(self.scenario(apache.url, status=401, iterations=2))
        self.assertEqual(run.statuses, {401: 4})

    def test_each_user_may_be_somebody_else(self):
        with DigestApache(self.folder / "apache", {"user1": "p1", "user2": "p2"}) as apache:
            run = self.load(self.scenario(apache.url, user="user${vu}", password="p${vu}"))
        self.assertEqual(run.statuses, {200: 10})


if __name__ == "__main__":
    product.main()
