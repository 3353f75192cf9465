#!/usr/bin/env python3
"""Who may include whom: the plan of the house, and the checks that keep it.

- A room includes only the rooms that ROOMS allows. Tests may look into any room.
- Pure rooms see no clock, thread, socket, file or log: time comes in as a value, effects go out as values.
- Headers include only the standard library, the system and our own headers; third-party headers stay in .cc files.
"""

import re
from fnmatch import fnmatch
from pathlib import Path

import house

UP_TO_REPORT = "report aggregate script lua native vuser client codec plan scenario yaml metrics runtime base"

KEEP = "message membership election register dispatch resilience health wire"
UP_TO_CLUSTER = f"{KEEP} discovery link journal web store yaml codec runtime base"
UP_TO_NODES = (f"local_cluster client_node node_roles node_cluster manager_node worker_node cluster_register "
               f"cluster_vote cluster_context cluster {UP_TO_CLUSTER} "
               f"signature secret dispatch_codec account share node results compare lead console target {UP_TO_REPORT}")

# (files, room, what it may include beside itself, pure). The first line that matches a file gives its room.
ROOMS = [
    ("src/base/*", "base", "", False),
    ("src/runtime/*", "runtime", "base", False),
    ("src/message/*", "message", "base", True),
    ("src/metrics/*", "metrics", "base", True),
    ("src/signature/*", "signature", "base", True),
    ("src/secret/*", "secret", "base", True),
    ("src/account/*", "account", "message proto aggregate plan metrics base", True),
    ("src/election/*", "election", "base", True),
    ("src/wire/link/*", "link", "wire runtime base", False),
    ("src/wire/*", "wire", "message base", True),
    ("src/membership/*", "membership", "base", True),
    ("src/register/*", "register", "message wire election base", True),
    ("src/dispatch/codec/*", "dispatch_codec",
     "message proto register dispatch account resilience wire scenario plan election base", True),
    ("src/dispatch/*", "dispatch", "plan resilience election base", True),
    ("src/resilience/*", "resilience", "base", True),
    ("src/health/*", "health", "base", True),
    ("src/cluster/discovery/*", "discovery", "base", True),
    ("src/cluster/register/*", "cluster_register", f"cluster {UP_TO_CLUSTER}", False),
    ("src/cluster/context/*", "cluster_context", f"cluster_register lead cluster_vote cluster {UP_TO_CLUSTER}", False),
    ("src/cluster/vote/*", "cluster_vote", f"cluster signature secret {UP_TO_CLUSTER}", False),
    ("src/cluster/*", "cluster", f"dispatch_codec {UP_TO_CLUSTER}", False),
    ("src/store/*", "store", "election yaml client codec metrics runtime base", False),
    ("src/web/*", "web", "codec runtime base", False),
    ("src/journal/*", "journal", "runtime base", False),
    ("src/lead/*", "lead", "journal web store election yaml report client codec metrics runtime base", False),
    ("src/yaml/*", "yaml", "base", True),
    ("src/scenario/*", "scenario", "yaml base", True),
    ("src/plan/*", "plan", "signature scenario base", True),
    ("src/protocol/*/client*", "client", "codec runtime metrics base", False),
    ("src/protocol/*/connection*", "client", "codec runtime metrics base", False),
    ("src/protocol/*", "codec", "base", True),
    ("src/vuser/*", "vuser", "client codec plan metrics runtime base", False),
    ("src/script/lua/*", "lua", "vuser client codec plan scenario yaml metrics runtime base", False),
    ("src/script/native/*", "native", "vuser client codec plan scenario yaml metrics runtime base", False),
    ("src/script/*", "script", "lua native vuser client codec plan signature scenario yaml metrics runtime base",
     False),
    ("src/aggregate/*", "aggregate", "metrics plan base", True),
    ("src/report/*", "report", "aggregate metrics plan runtime base", False),
    ("src/results/compare/*", "compare", "metrics base", True),
    ("src/results/*", "results", "account report aggregate plan metrics runtime base", False),
    ("src/console/*", "console", "aggregate report metrics plan base", False),
    ("src/node/manager/*", "manager_node",
     f"cluster_register dispatch_codec dispatch account aggregate cluster scenario plan metrics {UP_TO_CLUSTER}",
     False),
    ("src/node/local_cluster/*", "local_cluster", f"node_cluster cluster {UP_TO_CLUSTER}", False),
    ("src/node/client/*", "client_node",
     f"node_cluster dispatch_codec account cluster lua native signature report aggregate scenario plan metrics "
     f"{UP_TO_CLUSTER}", False),
    ("src/node/cluster/*", "node_cluster", f"signature secret cluster_vote cluster lead {UP_TO_CLUSTER}", False),
    ("src/node/roles/*", "node_roles",
     f"node_cluster manager_node worker_node share signature secret cluster_register cluster_vote cluster_context "
     f"dispatch_codec account cluster lead aggregate plan metrics {UP_TO_CLUSTER}", False),
    ("src/node/share/*", "share",
     "message node dispatch_codec dispatch account wire script signature vuser plan metrics runtime base", False),
    ("src/node/worker/*", "worker_node",
     f"share signature dispatch_codec dispatch account cluster vuser scenario plan metrics {UP_TO_CLUSTER}", False),
    ("src/node/*", "node", "report aggregate script vuser plan metrics runtime base", False),
    ("src/sim/*", "sim", f"manager_node worker_node {UP_TO_NODES}", False),
    ("src/cli/*", "cli", f"sim {UP_TO_NODES}", False),
    ("target/*", "target", "codec runtime base", False),
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
                     "tl/expected.hpp"]

# Standard headers so heavy that every file which includes ours would pay for them.
HEAVY_IN_HEADERS = {"iostream", "regex", "filesystem", "functional"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    for pattern, room, allowed, pure in ROOMS:
        if fnmatch(str(path), pattern):
            return room, allowed.split(), pure
    return None


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
    complaints = []
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
            else:
                wrong = angle_include(path, name, pure)
            if wrong:
                complaints.append(f"{path}:{number}: {wrong}")
    return complaints


if __name__ == "__main__":
    house.main(check)
