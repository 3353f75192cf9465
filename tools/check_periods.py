#!/usr/bin/env python3
"""No bare period: what a node does again and again is jittered, so that nodes started together do not act together.

In the rooms of the cluster, a line that adds a period, interval, refresh, heartbeat or renewal to the present draws the
time at random too: by Periodic (core/base/periodic.h), by a function named jittered…, or from a Prng. Tests and
simulated worlds may do without.
"""

import re

import house

ROOMS = ("src/cluster/", "src/jobs/dispatch/", "src/election/quorum/", "src/core/resilience/")
TESTS = ("*_test.cc", "*_fuzz.cc", "*_bench.cc", "*_testing.h")
WORDS = r"\w*(?:period|interval|refresh|heartbeat|renew_every)\w*"
NEXT = re.compile(rf"\bnow_?(?:\(\))? *\+ *(?:[\w.>-]+[.>])?({WORDS})\b(?!\.next\(|\.first\()"
                  rf"|\bsleep(?:_for)?\((?:[\w.>-]+[.>])?({WORDS})\b(?!\.next\(|\.first\()")
DRAWN = re.compile(r"jittered|prng|\.next\(\)|\.first\(\)")


def check(root):
    complaints = []
    for path in house.files(root, "*.h", "*.cc"):
        if not str(path).startswith(ROOMS) or any(path.match(pattern) for pattern in TESTS):
            continue
        for number, line in house.lines(root, path):
            code = line.split("//")[0]
            match = NEXT.search(code)
            if match and not DRAWN.search(code):
                word = match.group(1) or match.group(2)
                complaints.append(f"{path}:{number}: '{word}' is a bare period; take the time until the next one from "
                                  "Periodic (core/base/periodic.h)")
    return complaints


if __name__ == "__main__":
    house.main(check)
