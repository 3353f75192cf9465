"""The generators that are compared: how each is started, and what it says it did. Each gets the same work (CONNECTIONS
keep-alive connections, one thread, one processor), and none is believed when a response was not 200. Other tools take
whole seconds only."""

import dataclasses
import json
import math
import re
import tempfile
from pathlib import Path

from lib.needs import find
from lib.processes import GENERATOR_CPU, QUICK, Failure, machine_busy_s, run

CONNECTIONS = 64
START_AND_END_S = 300  # what a generator may take beside the time it was asked for, compiling a program included
SCHEDULE_NOT_KEPT = 121  # the exit code of a run whose arrivals were dropped in part; a result like any other
SATURATED = 122  # the same, because the generator had no processor: of a quick run, beside which others may run
SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"


@dataclasses.dataclass
class Run:
    """One measured run. CPU time is of the whole generator process, from its start to its end."""
    requests: int
    rate: float
    user_us: float  # per request
    sys_us: float
    generator_busy: float  # share of a processor
    server_busy: float
    others_busy: float  # what neither of the two did, in processors: the noise of the machine

    @property
    def cpu_us(self):
        return self.user_us + self.sys_us


def number(pattern, text, what):
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise Failure(f"{what} printed nothing that looks like '{pattern}':\n{text.strip()}")
    return float(match.group(1))


class Wrk:
    name = "wrk"

    def __init__(self):
        self.program = find("wrk")

    def command(self, site, seconds):
        return [self.program, "-t1", f"-c{CONNECTIONS}", f"-d{math.ceil(seconds)}s", "--timeout", "60s", site.url]

    def count(self, finished):
        if re.search(r"Non-2xx|Socket errors", finished.stdout):
            raise Failure(f"wrk had errors:\n{finished.stdout}")
        return (number(r"^\s*(\d+) requests in", finished.stdout, self.name),
                number(r"^Requests/sec:\s*([\d.]+)", finished.stdout, self.name))


class H2load:
    name = "h2load --h1"

    def __init__(self):
        self.program = find("h2load")

    def command(self, site, seconds):
        return [self.program, "--h1", "-t1", f"-c{CONNECTIONS}", "-D", str(math.ceil(seconds)), site.url]

    def count(self, finished):
        text = finished.stdout
        requests = number(r"^status codes: (\d+) 2xx, 0 3xx, 0 4xx, 0 5xx", text, self.name)
        if number(r"(\d+) failed, ", text, self.name) != 0:
            raise Failure(f"h2load had errors:\n{text}")
        return requests, number(r"^finished in .*?, ([\d.]+) req/s", text, self.name)


class Hey:
    name = "hey"

    def __init__(self):
        self.program = find("hey")

    def command(self, site, seconds):
        return [self.program, "-cpus", "1", "-c", str(CONNECTIONS), "-z", f"{math.ceil(seconds)}s", site.url]

    def count(self, finished):
        if set(re.findall(r"^\s*\[(\d+)\]\s", finished.stdout, re.MULTILINE)) != {"200"}:
            raise Failure(f"hey had other responses than 200:\n{finished.stdout}")
        return (number(r"^\s*\[200\]\s*(\d+) responses", finished.stdout, self.name),
                number(r"^\s*Requests/sec:\s*([\d.]+)", finished.stdout, self.name))


class Floor:
    name = "bare epoll loop"

    def __init__(self, program):
        self.program = program

    def command(self, site, seconds):
        return [self.program, site.address, site.path, "--connections", str(CONNECTIONS), "--duration", str(seconds)]

    def count(self, finished):
        result = json.loads(finished.stdout)
        return result["requests"], result["requests"] / result["seconds"]


class Bellwether:
    """A scenario of bench/scenarios, YAML unless its name says otherwise. `settings` are its variables; BASE, CA and
    SECONDS are set here."""

    def __init__(self, program, scenario, name, **settings):
        self.program = program
        self.scenario = SCENARIOS / (scenario if "." in scenario else f"{scenario}.yaml")
        self.name = name
        self.settings = settings

    def command(self, site, seconds, result_file=None):
        settings = {"BASE": site.base, **self.settings}
        if site.path != "/json":
            settings["PAGE"] = site.path
        if seconds is not None:
            settings["SECONDS"] = seconds
        if site.ca_file:
            settings["CA"] = site.ca_file
        command = [self.program, "run", str(self.scenario), "--cores", "1", "--ui", "none"]
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        return command + (["--out", f"json={result_file}"] if result_file else [])

    def run(self, site, seconds, cpu=GENERATOR_CPU, env=None, allowed_codes=(0,)):
        """One run: how the process ended, and its result file."""
        with tempfile.TemporaryDirectory(prefix="bellwether-bench-") as folder:
            file = Path(folder, "result.json")
            # Stored as any run is, but not among those of whoever measures.
            env = {"BELLWETHER_STORE": str(Path(folder, "results.db")), **(env or {})}
            finished = run(self.command(site, seconds, file), seconds + START_AND_END_S, cpu, env)
            if finished.code not in (*allowed_codes, *([SATURATED] if QUICK else [])) or not file.exists():
                raise Failure(f"bellwether ended with {finished.code}:\n{finished.stdout}{finished.stderr}")
            result = json.loads(file.read_text(encoding="utf-8"))
        assert_all_200(result)
        return finished, result


def assert_all_200(result):
    totals = result["totals"]
    statuses = {status for step in result["steps"].values() for status in step["status"]}
    failed_checks = sum(check["fails"] for check in result["checks"])
    if totals["requests"] == 0 or totals["failed"] or statuses != {"200"} or failed_checks:
        raise Failure(f"bellwether had errors: {totals['failed']} of {totals['requests']} requests failed, "
                      f"statuses {sorted(statuses)}, {failed_checks} checks failed")


def measure(client, site, seconds):
    """One run of one generator against one server, checked against what the server counted."""
    served, server_s, machine_s = site.served(), site.process.cpu_s(), machine_busy_s()
    if isinstance(client, Bellwether):
        finished, result = client.run(site, seconds)
        requests = result["totals"]["requests"]
        rate = requests / result["run"]["elapsed_s"]
    else:
        finished = run(client.command(site, seconds), seconds + START_AND_END_S, GENERATOR_CPU)
        if finished.code != 0:
            raise Failure(f"{client.name} ended with {finished.code}:\n{finished.stdout}{finished.stderr}")
        requests, rate = client.count(finished)
    server_s = site.process.cpu_s() - server_s
    generator_s = finished.user_s + finished.sys_s
    others_s = machine_busy_s() - machine_s - server_s - generator_s
    if served is not None:
        compare_with_server(client, requests, served, site.served())
    return Run(int(requests), rate, finished.user_s / requests * 1e6, finished.sys_s / requests * 1e6,
               generator_s / finished.wall_s, server_s / finished.wall_s, max(0.0, others_s / finished.wall_s))


def compare_with_server(client, requests, before, after):
    """A generator that invents requests, or opens connections again and again, is not doing the work."""
    accepted, served = after[0] - before[0], after[1] - before[1]
    # Beside what was counted: a request in flight on each connection at either end, and the question for the figures.
    if not requests <= served <= requests + 2 * CONNECTIONS + 2:
        raise Failure(f"{client.name} says {requests:.0f} requests, the server served {served}")
    if accepted > 2 * CONNECTIONS:  # some tools dial one too many at the start
        raise Failure(f"{client.name} opened {accepted} connections to keep {CONNECTIONS} busy")
