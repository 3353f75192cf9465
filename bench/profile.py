#!/usr/bin/env python3
# builds: bellwether
# installs: nginx-light openssl linux-perf
"""Where the time of a request goes: the generator under perf, by part and by function."""

import re
import subprocess
import sys
import tempfile

from lib import clients, needs, report, servers
from lib.processes import Failure


def perf_report(perf, data, sort, least_percent):
    """[assignment, what] by falling assignment."""
    text = subprocess.run([perf, "report", "-i", data, "--stdio", "-F", f"overhead,{sort}", "--percent-limit",
                           str(least_percent)], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^\s*([\d.]+%)\s+(\S.*?)\s*$", text, re.MULTILINE)
    return [[assignment, " ".join(what.split())] for assignment, what in lines]


def usable_perf(record):
    """Kernels and containers may forbid it."""
    tried = subprocess.run([*record, "/dev/null", "--", "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise needs.Missing(f"perf may not record here: {tried.stderr.strip()}")


def compare(options, out):
    perf = needs.find("perf")
    # cpu-clock: virtual machines often have no hardware counters.
    record = [perf, "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o"]
    usable_perf(record)
    client = clients.Bellwether(needs.built(options.build, "bellwether"), options.scenario, "bellwether")
    with servers.nginx() as (site, tls_site), tempfile.NamedTemporaryFile(prefix="bellwether-perf-") as data:
        where = tls_site if options.scenario == "tls" else site
        plain = client.command
        client.command = lambda *arguments: [*record, data.name, "--", *plain(*arguments)]
        client.run(where, options.seconds)
        parts = perf_report(perf, data.name, "dso", 0.1)
        functions = perf_report(perf, data.name, "dso,symbol", options.percent)
    if not functions:
        raise Failure("perf saw no function at all")
    print(f"({len(functions)} functions above {options.percent} %)", file=sys.stderr)
    out.table(f"{options.scenario}, {options.seconds} s: by part", ["assignment", "part"], parts)
    out.table("By function", ["assignment", "function"], functions)
    out.raw = {"parts": parts, "functions": functions}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--seconds", type=int, default=5, help="length of the run (default 5)")
    arguments.add_argument("--scenario", default="plain", choices=["plain", "extract", "tls", "arrival"])
    arguments.add_argument("--percent", type=float, default=0.5, help="least assignment that is shown (default 0.5)")
    report.main(arguments, compare, seconds=1)
