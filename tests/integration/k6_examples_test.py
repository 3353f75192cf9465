#!/usr/bin/env python3
"""The scripts of k6's `examples`, said as scenarios, and run against a server that answers as theirs do."""

import re

from lib import echo, product
from lib.certificates import Authority
from lib.k6_examples import HTTP
from lib.k6_scripts import EXAMPLES as SCRIPTS
from lib.server import Served, Server, tls_context

EXAMPLES = {**HTTP, **SCRIPTS}
GUIDE = product.ROOT / "docs/load/guides/k6-examples.md"


class K6Examples(Served):
    def respond(self, request, connection):
        return echo.answer(request)

    def play(self, example):
        for name, text in example.files.items():
            self.write(name, text)
        text = example.text
        if "https://test" in text:
            authority = Authority(self.folder)
            for name in ("server", "client"):
                authority.issue(name, "IP:127.0.0.1")
            secure = Server(echo.answer, tls=tls_context(self.folder / "server.pem", self.folder / "server.key"))
            self.addCleanup(secure.close)
            text = text.replace("https://test", secure.url)
        text = text.replace("http://test", self.server.url)
        what = product.Path(self.write("scenario.lua", text)) if example.lua else text
        checked = self.bellwether("check", self.named(what), *(example.options if "--set" in example.options else ()))
        self.assertEqual(checked.code, product.PASS, checked)
        run = self.load(what, *example.options, code=example.code)
        if example.requests is not None:
            self.assertEqual(run.totals["requests"], example.requests, run)
        else:
            self.assertGreater(run.totals["requests"], 0)
        self.assertEqual([name for name, (_, fails) in run.checks.items() if fails and name not in example.failing],
                         [], run)
        for text in example.says:
            self.assertIn(text, " ".join(run.out.split()))
        return run

    def test_the_guide_lists_them_all(self):
        guide = GUIDE.read_text(encoding="utf-8")
        told = re.findall(r"^\| `([^`]+)` \|", guide, re.MULTILINE)
        known = [name for name in told if name in EXAMPLES]
        self.assertEqual(sorted(known), sorted(EXAMPLES))
        self.assertIn(f"**{len(EXAMPLES)} of {len(told)}**", guide)


def one(name, example):
    def test(self):
        self.play(example)
    test.__doc__ = name
    return test


for place, (label, of) in enumerate(EXAMPLES.items()):
    setattr(K6Examples, "test_" + re.sub(r"\W", "_", label), one(label, of))


if __name__ == "__main__":
    product.main()
