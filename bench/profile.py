#!/usr/bin/env python3
"""Where the time of a request goes: the generator under perf, by part and by function."""

import re
import subprocess
import sys
import tempfile

from lib import clients, report, servers
from lib.processes import find


def perf_report(perf, data, sort, least_percent):
    """[share, what] by falling share."""
    text = subprocess.run([perf, "report", "-i", data, "--stdio", "-F", f"overhead,{sort}", "--percent-limit",
                           str(least_percent)], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^\s*([\d.]+%)\s+(\S.*?)\s*$", text, re.MULTILINE)
    return [[share, " ".join(what.split())] for share, what in lines]


def compare(options, out):
    seconds = 1 if options.quick else options.seconds
    perf = find("perf", "linux-perf")
    client = clients.Bellwether(report.built(options.build, "src/cli/bellwether"), options.scenario, "bellwether")
    with servers.nginx() as (site, tls_site), tempfile.NamedTemporaryFile(prefix="bellwether-perf-") as data:
        where = tls_site if options.scenario == "tls" else site
        # cpu-clock: virtual machines often have no hardware counters.
        record = [perf, "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", data.name, "--"]
        client.command, plain = (lambda *arguments: record + plain(*arguments)), client.command
        client.run(where, seconds)
        parts = perf_report(perf, data.name, "dso", 0.1)
        functions = perf_report(perf, data.name, "dso,symbol", options.percent)
    print(f"({len(functions)} functions above {options.percent} %)", file=sys.stderr)
    out.table(f"{options.scenario}, {seconds} s: by part", ["share", "part"], parts)
    out.table("By function", ["share", "function"], functions)
    out.raw = {"parts": parts, "functions": functions}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--seconds", type=int, default=5, help="length of the run (default 5)")
    arguments.add_argument("--scenario", default="plain", choices=["plain", "extract", "tls", "arrival"])
    arguments.add_argument("--percent", type=float, default=0.5, help="least share that is shown (default 0.5)")
    report.main("profile", arguments, compare)
