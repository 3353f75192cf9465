#!/usr/bin/env python3
"""Who may include whom: the plan of the house, and the checks that keep it.

- Two levels. A district includes only the districts that DISTRICTS allows, and a room only the rooms that ROOMS
  allows. Neither has a cycle. Tests may look into any room.
- Pure rooms see no clock, thread, socket, file or log: time comes in as a value, effects go out as values.
- Headers include only the standard library, the system and our own headers; third-party headers stay in .cc files.
"""

import re
from fnmatch import fnmatch
from pathlib import Path

import house

# A folder below src/, and the districts that it may include beside itself.
DISTRICTS = {
    "core": "",
    "load": "core",
    "election": "core",
    "cluster": "core election",
    "jobs": "core load election cluster",
    "lead": "core election cluster",
    "sim": "core load election cluster jobs lead",
    "cli": "core load election cluster jobs lead sim",
}

# (files, room, what it may include beside itself, pure). The first line that matches a file gives its room. A
# district's name with a slash stands for all of its rooms.
ROOMS = [
    ("src/core/base/*", "base", "", False),
    ("src/core/runtime/*", "runtime", "base", False),
    ("src/core/message/*", "message", "base", True),
    ("src/core/signature/*", "signature", "base", True),
    ("src/core/secret/*", "secret", "base", True),
    ("src/core/resilience/*", "resilience", "base", True),
    ("src/core/yaml/*", "yaml", "base", True),
    ("src/core/http1/client*", "client", "http1 runtime base", False),
    ("src/core/http1/connection*", "client", "http1 runtime base", False),
    ("src/core/http1/*", "http1", "base", True),
    ("src/core/web/*", "web", "http1 runtime base", False),
    ("src/core/journal/*", "journal", "runtime base", False),

    ("src/load/metrics/*", "metrics", "http1 base", True),
    ("src/load/scenario/*", "scenario", "yaml base", True),
    ("src/load/import/*", "import", "http1 scenario yaml base", True),
    ("src/load/plan/*", "plan", "signature scenario base", True),
    ("src/load/aggregate/*", "aggregate", "metrics plan base", True),
    ("src/load/codec/*", "codec", "message proto aggregate plan metrics base", True),
    ("src/load/vuser/*", "vuser", "client http1 plan metrics runtime base", False),
    ("src/load/script/lua/*", "lua", "vuser plan scenario metrics core/", False),
    ("src/load/script/native/*", "native", "vuser plan scenario metrics core/", False),
    ("src/load/script/*", "script", "lua native vuser plan scenario metrics core/", False),
    ("src/load/report/*", "report", "aggregate metrics plan runtime base", False),
    ("src/load/results/compare/*", "compare", "metrics base", True),
    ("src/load/results/*", "results", "codec report aggregate plan metrics runtime base", False),
    ("src/load/console/*", "console", "aggregate report metrics plan base", False),
    ("src/load/local/*", "local", "report aggregate script vuser plan metrics runtime base", False),

    ("src/election/store/*", "store", "election core/", False),
    ("src/election/*", "election", "base", True),

    ("src/cluster/wire/link/*", "link", "wire runtime base", False),
    ("src/cluster/wire/*", "wire", "message base", True),
    ("src/cluster/membership/*", "membership", "base", True),
    ("src/cluster/register/*", "register", "message wire election base", True),
    ("src/cluster/health/*", "health", "base", True),
    ("src/cluster/discovery/*", "discovery", "base", True),
    ("src/cluster/net/*", "net", "link wire membership register health discovery election/ core/", False),
    ("src/cluster/replication/*", "replication", "net link wire membership register election/ core/", False),
    ("src/cluster/vote/*", "vote", "net link wire membership election/ core/", False),
    ("src/cluster/node/*", "node", "vote net link wire membership health discovery election/ core/", False),
    ("src/cluster/local_cluster/*", "local_cluster", "node net wire membership election/ core/", False),

    ("src/jobs/ingest/*", "ingest", "message codec aggregate plan metrics base", True),
    ("src/jobs/dispatch/codec/*", "dispatch_codec",
     "message proto register dispatch ingest codec resilience wire scenario plan election base", True),
    ("src/jobs/dispatch/*", "dispatch", "plan resilience election base", True),
    ("src/jobs/files/*", "files", "dispatch_codec dispatch cluster/ core/", False),
    ("src/jobs/assignment/*", "assignment", "dispatch_codec dispatch cluster/ load/ core/", False),
    ("src/jobs/worker/*", "worker", "files assignment dispatch_codec dispatch ingest load/ cluster/ election/ core/",
     False),
    ("src/jobs/manager/*", "manager", "files dispatch_codec dispatch ingest load/ cluster/ election/ core/", False),
    ("src/jobs/roles/*", "roles", "files manager worker assignment dispatch_codec dispatch ingest load/ cluster/"
     " election/ core/", False),
    ("src/jobs/client/*", "client_of_jobs", "dispatch_codec dispatch ingest load/ cluster/ election/ core/", False),

    ("src/lead/context_driver/*", "context_driver", "lead cluster/ election/ core/", False),
    ("src/lead/roles/*", "lead_roles", "context_driver lead cluster/ election/ core/", False),
    ("src/lead/*", "lead", "election/ core/", False),

    ("src/sim/*", "sim", "core/ load/ election/ cluster/ jobs/ lead/", False),
    ("src/cli/*", "cli", "core/ load/ election/ cluster/ jobs/ lead/ sim/ target", False),
    ("target/*", "target", "http1 runtime base", False),
]

TESTS = ("*_test.cc", "*_fuzz.cc", "*_bench.cc", "*_test_*.h", "*_testing.h")

# What a pure room must not see.
IMPURE = [
    "chrono", "ctime", "time.h", "random",
    "thread", "mutex", "shared_mutex", "condition_variable", "future", "pthread.h", "csignal", "signal.h",
    "fstream", "filesystem", "iostream", "cstdio", "stdio.h", "spdlog/*",
    "unistd.h", "fcntl.h", "poll.h", "netdb.h", "sys/*", "netinet/*", "arpa/*", "linux/*",
]

# What a header may take from the system, beside the C++ standard library. tl::expected is the body of Result<T>.
SYSTEM_IN_HEADERS = ["sys/*", "netinet/*", "arpa/*", "linux/*", "unistd.h", "fcntl.h", "netdb.h", "poll.h",
                     "tl/expected.hpp", "fmt/core.h"]

# Standard headers so heavy that every file which includes ours would pay for them.
HEAVY_IN_HEADERS = {"iostream", "regex", "filesystem", "functional"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def rooms_in(district):
    return [room for pattern, room, _, _ in ROOMS if pattern.startswith(f"src/{district}/")]


def room_of(path):
    for pattern, room, allowed, pure in ROOMS:
        if fnmatch(str(path), pattern):
            names = [name for one in allowed.split() for name in (rooms_in(one[:-1]) if one.endswith("/") else [one])]
            return room, names, pure
    return None


def district_of(path):
    return path.parts[1] if path.parts[0] == "src" and len(path.parts) > 2 else None


def cycles(edges, what):
    """A complaint for each cycle in {name: the names that it includes}."""
    left = {name: {one for one in to if one != name} for name, to in edges.items()}
    included = set().union(*left.values()) if left else set()
    while free := [name for name, to in left.items() if not to & left.keys() or name not in included]:
        for name in free:
            del left[name]
        included = set().union(*left.values()) if left else set()
    return [f"{what} include each other in a circle: {', '.join(sorted(left))}"] if left else []


def is_test(path):
    return any(path.match(pattern) for pattern in TESTS)


def own_header(root, name):
    """The file that #include "name" means: names are relative to src/, those of the test server to the root."""
    for candidate in (Path("src", name), Path(name), Path("include", name)):
        if Path(root, candidate).is_file():
            return candidate
    return None


def generated_include(root, path, name, room, allowed):
    if not Path(root, name.removesuffix(".pb.h") + ".proto").is_file():
        return f'there is no message file for "{name}"'
    if is_test(path):
        return None
    if "proto" not in allowed:
        return f"{room} may not include wire messages ({name})"
    if path.suffix == ".h":
        return f'generated "{name}" belongs in a .cc file'
    return None


def quoted_include(root, path, name, room, allowed):
    if name.startswith("proto/"):
        return generated_include(root, path, name, room, allowed)
    header = own_header(root, name)
    if header is None:
        return f'there is no "{name}"; includes are written relative to src/'
    if is_test(path):
        return None
    if is_test(header):
        return f'"{name}" is for tests only'
    here, there = district_of(path), district_of(header)
    if here in DISTRICTS and there in DISTRICTS and there != here and there not in DISTRICTS[here].split():
        return f"district {here} may not include {there} ({name}); it may include: {DISTRICTS[here] or 'nothing'}"
    place = room_of(header)
    if place is not None and place[0] != room and place[0] not in allowed:
        return f"{room} may not include {place[0]} ({name}); it may include: {' '.join(allowed) or 'nothing'}"
    return None


def angle_include(path, name, pure):
    if is_test(path):
        return None
    if pure and any(fnmatch(name, pattern) for pattern in IMPURE):
        return f"a pure room may not include <{name}>: take the value as an argument"
    if path.suffix != ".h":
        return None
    if name in HEAVY_IN_HEADERS:
        return f"<{name}> is too heavy for a header"
    standard = "." not in name and "/" not in name
    if not standard and not any(fnmatch(name, pattern) for pattern in SYSTEM_IN_HEADERS):
        return f"third-party <{name}> belongs in a .cc file"
    return None


def check(root):
    complaints = cycles({name: set(to.split()) for name, to in DISTRICTS.items()}, "districts")
    rooms = {}  # by room: those that its files include
    for path in house.below(house.files(root, "*.h", "*.cc"), "src", "target"):
        place = room_of(path)
        if place is None:
            complaints.append(f"{path}: no room for this file in tools/check_includes.py")
            continue
        room, allowed, pure = place
        for number, line in house.lines(root, path):
            match = INCLUDE.match(line)
            if not match:
                continue
            kind, name = match.groups()
            if kind == '"':
                wrong = quoted_include(root, path, name, room, allowed)
                header = own_header(root, name)
                if header and not is_test(path) and (there := room_of(header)):
                    rooms.setdefault(room, set()).add(there[0])
            else:
                wrong = angle_include(path, name, pure)
            if wrong:
                complaints.append(f"{path}:{number}: {wrong}")
    return complaints + cycles(rooms, "rooms")


if __name__ == "__main__":
    house.main(check)
