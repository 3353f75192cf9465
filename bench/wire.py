#!/usr/bin/env python3
# builds: exchanges
"""What a sealed request and its answer of 1 KiB cost between two nodes on one connection over the loopback interface.

Both ends in one thread, so that the figure is of one processor for both, and each end in a thread of its own; with 1,
16 and 64 requests under way. Beside it the same bytes over the same streams with nothing of ours done to them, and the
instructions of one exchange, counted by callgrind in two runs of different length.
"""

import json
import re
import subprocess
import tempfile

from lib import needs, report
from lib.processes import Failure, run

BYTES = 1024
DEPTHS = (1, 16, 64)


def measured(program, kind, threads, depth, seconds):
    finished = run([program, kind, str(threads), str(depth), str(BYTES), str(seconds)], seconds + 300)
    if finished.code != 0:
        raise Failure(f"exchanges ended with {finished.code}: {finished.stderr.strip()}")
    return json.loads(finished.stdout)


def instructions(program, valgrind, count):
    """Of a run with so many exchanges."""
    with tempfile.NamedTemporaryFile(prefix="bellwether-callgrind-") as out:
        subprocess.run([valgrind, "--tool=callgrind", f"--callgrind-out-file={out.name}", program, "fixed", "64",
                        str(BYTES), str(count)], check=True, capture_output=True, text=True)
        annotate = needs.find("callgrind_annotate", optional=True)
        text = subprocess.run([annotate, "--inclusive=no", "--threshold=100", out.name], check=True,
                              capture_output=True, text=True).stdout
    totals = re.search(r"^\s*([\d,]+)(?: \([\d. ]+%\))?\s+PROGRAM TOTALS", text, re.MULTILINE)
    return int(totals.group(1).replace(",", ""))


def compare(options, out):
    program = needs.built(options.build, "exchanges")
    rows, runs = [], []
    for threads in (1, 2):
        for depth in DEPTHS:
            sealed = measured(program, "sealed", threads, depth, options.seconds)
            bare = measured(program, "bare", threads, depth, options.seconds)
            runs += [sealed, bare]
            rows.append([threads, depth, f"{sealed['rate']:,.0f}", f"{sealed['cpu_us']:.2f}", f"{bare['rate']:,.0f}",
                         f"{bare['cpu_us']:.2f}", f"{sealed['cpu_us'] / bare['cpu_us']:.1f}"])
    out.table(f"Requests and answers of {BYTES} bytes, sealed, {options.seconds} s each",
              ["threads", "under way", "sealed a second", "CPU µs", "bare a second", "CPU µs", "ratio of CPU"], rows)
    least = min(one["rate"] for one in runs if one["sealed"] and one["threads"] == 1)
    out.goals([("requests and answers of 1 KiB between nodes a second, one processor for both ends, at least", least,
                ">=", 50_000, "{:,.0f}", "Between nodes")])
    out.raw = {"runs": runs}
    if options.count:
        valgrind = needs.find("valgrind", optional=True)
        few, many = (instructions(program, valgrind, count) for count in (2_000, 12_000))
        out.raw["instructions"] = (many - few) / 10_000
        out.remark(f"Instructions of one exchange, both ends, under callgrind: {(many - few) / 10_000:,.0f}.")


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--seconds", type=float, default=5, help="length of each run (default 5)")
    arguments.add_argument("--count", action="store_true", help="also count instructions (needs valgrind)")
    report.main(arguments, compare, seconds=0.1)
