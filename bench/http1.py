#!/usr/bin/env python3
# builds: bellwether floor
# installs: nginx-light openssl wrk nghttp2-client hey
"""HTTP/1.1 on one core, beside wrk, h2load, hey and a bare epoll loop.

Server and generator have a processor each. Every run of X is paired with a run of wrk right before or after it (turn
about), and a ratio is the median of the pairs' ratios: a machine has slow phases, and figures of different minutes do
not compare. CPU time is of the whole generator process. A run that had any other status than 200, or whose count the
server does not confirm, stops everything.
"""

import contextlib
import dataclasses
import statistics
import sys

from lib import clients, needs, report, servers


@dataclasses.dataclass
class Pairs:
    """The runs of one contender, each with the run of wrk next to it."""
    site: object
    client: object
    runs: list = dataclasses.field(default_factory=list)
    peers: list = dataclasses.field(default_factory=list)

    def ratio(self, figure):
        return [getattr(run, figure) / getattr(peer, figure) for run, peer in zip(self.runs, self.peers)]

    def median(self, figure):
        return statistics.median(getattr(run, figure) for run in self.runs)


PLAIN = "bellwether, plain"
EXTRACT = "bellwether, check + extract"
LUA = "bellwether, check + extract in Lua"
CPP = "bellwether, check + extract in C++"
CONTENDERS = ("h2load", "hey", "floor", "plain", "extract", "lua", "cpp", "varied", "varied-floor", "target",
              "target-floor", "tls")


def contenders(options, stack):
    """The chosen pairs. Servers live as long as the stack."""
    program = needs.built(options.build, "bellwether")

    def scenario(name, label):
        return clients.Bellwether(program, name, label)

    def floor():
        return clients.Floor(needs.built(options.build, "floor"))

    nginx, nginx_tls = stack.enter_context(servers.nginx())
    varied = dataclasses.replace(nginx, name="nginx, each head another", path="/varied")
    makers = {"h2load": (nginx, clients.H2load), "hey": (nginx, clients.Hey), "floor": (nginx, floor),
              "plain": (nginx, lambda: scenario("plain", PLAIN)),
              "extract": (nginx, lambda: scenario("extract", EXTRACT)),
              "lua": (nginx, lambda: scenario("extract.lua", LUA)),
              "cpp": (nginx, lambda: scenario("extract.cc", CPP)),
              "varied": (varied, lambda: scenario("plain", PLAIN)), "varied-floor": (varied, floor),
              "tls": (nginx_tls, lambda: scenario("tls", PLAIN))}
    if {"target", "target-floor"} & set(options.only):
        target = stack.enter_context(servers.target(program))
        makers |= {"target-floor": (target, floor), "target": (target, lambda: scenario("plain", PLAIN))}
    pairs = {name: (makers[name][0], peer(options, makers[name][1])) for name in CONTENDERS if name in options.only}
    return {name: Pairs(site, client) for name, (site, client) in pairs.items() if client}


def peer(options, maker):
    """What it makes; nothing in a quick run on a machine that has no such program."""
    try:
        return maker()
    except needs.Missing as missing:
        if not options.quick:
            raise
        print(f"skipped: {missing}")
        return None


def compare(options, out):
    rounds, seconds = options.rounds, options.seconds
    wrk = peer(options, clients.Wrk)
    with contextlib.ExitStack() as stack:
        pairs = contenders(options, stack)
        print(f"About {rounds * len(pairs) * 2 * (seconds + 0.2) / 60:.1f} minutes: {rounds} rounds of "
              f"{2 * len(pairs)} runs of {seconds} s.", file=sys.stderr)
        for turn in range(rounds):
            for name, pair in pairs.items():
                order = [(wrk, pair.peers), (pair.client, pair.runs)]
                if options.quick and (wrk is None or name != "plain"):
                    order = order[1:]  # one run of wrk will do where no figure means anything
                for client, runs in order if turn % 2 == 0 else reversed(order):
                    runs.append(clients.measure(client, pair.site, seconds))
            print(f"  round {turn + 1} of {rounds} done", file=sys.stderr)
    show(out, pairs, rounds, seconds)


def show(out, pairs, rounds, seconds):
    for site in {pair.site.name: pair.site for pair in pairs.values()}.values():
        here = [pair for pair in pairs.values() if pair.site is site]
        wrk_runs = [run for pair in here for run in pair.peers]
        out.table(f"{site.name}, {clients.CONNECTIONS} connections",
                  ["generator", "requests/s", "× wrk", "CPU µs/request", "× wrk", "user µs", "generator busy",
                   "server busy"],
                  [row("wrk", Pairs(site, None, wrk_runs)) for _ in wrk_runs[:1]] +
                  [row(pair.client.name, pair) for pair in here])
    every = [run for pair in pairs.values() for run in pair.runs + pair.peers]
    others = [run.others_busy for run in every]
    out.remark(f"Medians of {rounds} pairs of {seconds} s [lowest–highest]. Anything else on the machine used "
               f"{statistics.median(others):.2f} processors (median; at most {max(others):.2f}): the lower, the truer.")
    out.goals([goal for name in pairs if pairs[name].peers for goal in goals_of(name, pairs[name])])
    out.raw = {"rounds": rounds, "seconds": seconds, "runs": {
        name: {"server": pair.site.name, "generator": pair.client.name,
               "runs": [dataclasses.asdict(run) for run in pair.runs],
               "wrk": [dataclasses.asdict(run) for run in pair.peers]} for name, pair in pairs.items()}}


def row(name, pair):
    rate_ratio, cpu_ratio = (report.spread(pair.ratio(figure)) if pair.peers else "1" for figure in ("rate", "cpu_us"))
    return [name, f"{pair.median('rate'):,.0f}", rate_ratio, f"{pair.median('cpu_us'):.2f}", cpu_ratio,
            f"{pair.median('user_us'):.2f}",
            f"{pair.median('generator_busy'):.0%}", f"{pair.median('server_busy'):.0%}"]


def goals_of(name, pair):
    where = f"{pair.client.name}, {pair.site.name}"
    beside, written = "HTTP/1.1 beside other tools", "Lua and C++ beside wrk"
    bounds = {"plain": [("rate", ">=", 1.0, beside), ("cpu_us", "<=", 0.9, beside), ("user", "<=", 0.7)],
              "extract": [("rate", ">=", 0.95), ("cpu_us", "<=", 0.95), ("user", "<=", 0.8)],
              "lua": [("cpu_us", "<=", 1.0, written)],
              "cpp": [("rate", ">=", 0.95), ("cpu_us", "<=", 0.95, written)],
              "target": [("rate", ">=", 1.25)],
              "tls": [("cpu_us", "<=", 1.0)]}
    for figure, relation, bound, *heading in bounds.get(name, []):
        if figure == "user":
            yield f"{where}: user µs per request", pair.median("user_us"), relation, bound, "{:.2f}", *heading
        else:
            what = {"rate": "requests/s", "cpu_us": "CPU per request"}[figure]
            yield f"{where}: {what} × wrk", statistics.median(pair.ratio(figure)), relation, bound, "{:.2f}", *heading


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=5, help="pairs of each contender with wrk (default 5)")
    arguments.add_argument("--seconds", type=float, default=3, help="length of a run (default 3)")
    arguments.add_argument("--only", nargs="+", choices=CONTENDERS, default=CONTENDERS,
                           help="these contenders instead of all")
    report.main(arguments, compare, rounds=1, seconds=0.3)
