#!/usr/bin/env python3
# builds: bellwether bench_tools
"""All benches with figures that have goals, one after the other, and one table of these figures.

Each bench has the machine to itself. BUILD/bench-results has its tables (NAME.log) and its single figures (NAME.json).
A bench that fails is a row that says why, and the exit code is 1. Ctrl-C ends the bench that runs; the table then has
the figures of those before it.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from lib import needs, report
from lib.processes import leashed, run

BENCHES = ("http1", "arrival", "stall", "layers", "memory", "data", "allocations", "leadership", "wire", "cluster",
           "jobs_scale", "jobs")  # as in docs/performance.md; without `profile`, which measures nothing that has a goal


def script(name):
    return needs.SCRIPT.parent / f"{name}.py"


def versions(options):
    """Of the measured program, and of what Debian has installed for the benches."""
    packages = sorted({package for name in options.only for package in needs.declared("installs", script(name))})
    own = run([needs.built(options.build, "bellwether"), "--version"], 60).stdout.splitlines()[0]
    shown = run(["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", "util-linux", *packages], 60).stdout.splitlines()
    return ", ".join([own, *(line for line in shown if not line.endswith(" "))])


def ended(command, log):
    """The exit code of a bench. Ctrl-C reaches it through this process only, once, and it has time to clean up."""
    with open(log, "wb") as out:
        bench = subprocess.Popen(leashed(command), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        try:
            return bench.wait()
        except KeyboardInterrupt:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(bench.pid, signal.SIGINT)
            bench.wait()
            raise


def reason(name, log):
    """Why a bench failed, in one line of what it said: its own words, else the last line."""
    said = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    own = (line.removeprefix(f"{name}: ") for line in reversed(said) if line.startswith(f"{name}: "))
    return next(own, (said or ["no output"])[-1].removeprefix("skipped: ")).strip()


def rows_of(name, options, folder):
    """(exit code, rows of the table) of one bench."""
    result, log = folder / f"{name}.json", folder / f"{name}.log"
    code = ended([sys.executable, "-B", script(name), "--build", options.build, "--json", result,
                  *["--quick"] * options.quick], log)
    if code == 0:
        rows = json.loads(result.read_text(encoding="utf-8"))["headlines"]
        return code, rows or [[f"bench {name}", "no figure", "", "", ""]]
    sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
    return code, [[f"bench {name}", "**not measured**", "", "", reason(name, log)]]


def compare(options, out):
    folder = options.build.resolve() / "bench-results"
    folder.mkdir(exist_ok=True)
    out.remark(f"Versions: {versions(options)}.")
    codes = set()
    try:
        for i, name in enumerate(options.only):
            began = time.monotonic()
            print(f"bench all: {i + 1} of {len(options.only)}: {name} …", file=sys.stderr, flush=True)
            code, found = rows_of(name, options, folder)
            codes.add(code)
            out.headlines += found
            print(f"bench all: {name} {'failed' if code else 'ended'} after {time.monotonic() - began:.0f} s; see "
                  f"{folder / name}.log", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        codes.add(report.INTERRUPTED)
        out.headlines += [[f"bench {name}", "not run", "", "", "interrupted"] for name in options.only[i:]]
    out.table("Figures and goals", ["figure", "measured", "goal", "met", "section"], out.headlines)
    failures = codes - {0}
    if report.INTERRUPTED in failures:
        return report.INTERRUPTED
    return report.SKIPPED if options.quick and failures == {report.SKIPPED} else int(bool(failures))


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--only", nargs="+", choices=BENCHES, default=BENCHES, help="these benches instead of all")
    report.main(arguments, compare)
