#!/usr/bin/env python3
# builds: bellwether
"""What a large file of data costs: a processor's seconds to read it once, and memory while a run takes rows of it.

Memory of its own is what the process has allocated (RssAnon); the pages of the mapped file (RssFile) belong to the
system's cache, which takes them back whenever it likes. Both are beside those of a run with ten rows. The file is in
the system's cache when the time is taken.
"""

import json
import random
import tempfile
import time
from pathlib import Path

from lib import needs, report
from lib.processes import Background, Failure, run

LIMIT_S = 600

SCENARIO = """\
data: {{rows: {{{format}: {file}, pick: random}}}}
workflows:
  w:
    vus: 10
    duration: 1h
    pacing: 10ms
    steps: {{a: {{http: {{get: "http://127.0.0.1:9/${{rows.id}}/${{rows.name}}"}}}}}}
"""


def write_rows(path, rows, kind):
    draw = random.Random(1)
    with path.open("w", encoding="utf-8", newline="") as file:
        if kind == "csv":
            file.write("id,name,token\r\n")
        for row in range(rows):
            name, token = f"user{row}@example.com", f"{draw.getrandbits(128):032x}"
            if kind == "csv":
                file.write(f'{row},"{name}",{token}\r\n')
            else:
                file.write(json.dumps({"id": row, "name": name, "token": token}) + "\n")


def scenario_of(folder, kind, rows):
    data = folder / f"{rows}.{kind}"
    write_rows(data, rows, kind)
    scenario = folder / f"{rows}-{kind}.yaml"
    scenario.write_text(SCENARIO.format(format=kind, file=data.name), encoding="utf-8")
    return data, scenario


def checked_s(program, scenario):
    """Processor time, the least of three."""
    times = []
    for _ in range(3):
        done = run([program, "check", str(scenario)], LIMIT_S)
        times.append(done.user_s + done.sys_s)
        if done.code != 0:
            raise Failure(done.stderr)
    return min(times)


def running_kib(program, scenario, wait_s):
    with Background([program, "run", str(scenario), "--ui", "none", "--no-store", "--cores", "1"]) as process:
        time.sleep(wait_s)
        return process.memory_kib("RssAnon", "RssFile")


def compare(options, out):
    program = needs.built(options.build, "bellwether")
    rows, raw = [], []
    with tempfile.TemporaryDirectory(prefix="bellwether-bench-") as name:
        folder = Path(name)
        for kind in ("csv", "jsonl"):
            _, few = scenario_of(folder, kind, 10)
            base_s, (base_kib, base_file_kib) = checked_s(program, few), running_kib(program, few, options.settle)
            for size in options.rows:
                data, scenario = scenario_of(folder, kind, size)
                seconds = checked_s(program, scenario) - base_s
                own, pages = running_kib(program, scenario, 2 * seconds + options.settle)
                figure = {"format": kind, "rows": size, "mib": data.stat().st_size / 2**20, "index_s": seconds,
                          "own_kib": own - base_kib, "file_kib": pages - base_file_kib}
                raw.append(figure)
                rows.append([kind, f"{size:,}", f"{figure['mib']:.0f}", f"{seconds:.2f}",
                             f"{figure['own_kib'] / 1024:.1f}", f"{figure['file_kib'] / 1024:.0f}"])
                data.unlink()
    out.table("A file of data", ["format", "rows", "file MiB", "processor seconds to read it", "memory of its own MiB",
                                 "pages of the file MiB"], rows)
    most = max(raw, key=lambda figure: figure["rows"])
    out.goals([(f"bytes of memory for each of {most['rows']:,} rows of data", most["own_kib"] * 1024 / most["rows"],
                "<=", 1, "{:.2f}", "Data")])
    out.raw = {"files": raw}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--rows", type=int, nargs="+", default=[10_000_000], help="default 10000000")
    arguments.add_argument("--settle", type=float, default=3, metavar="SECONDS",
                           help="of a run before its memory is looked at; each user takes a row each 10 ms (default 3)")
    report.main(arguments, compare, rows=[10_000], settle=0.3)
