#!/usr/bin/env python3
"""Nothing is detached: whatever goes on beside belongs to something that ends it and waits for it.

Coroutines are started by runtime/ alone, which gives them a Scope or a task that joins them: nobody else has a handle
of one in hand. A thread is a member whose owner joins it; the files that have one are named here, so that a new one is
a decision. Tests may do without.
"""

import re

import house

TESTS = ("*_test.cc", "*_fuzz.cc", "*_bench.cc", "*_testing.h")
# The awaiters outside of the runtime; those of workflow.h belong to a step, which owns all of its coroutines.
HANDLES = ("src/core/runtime/", "src/cluster/wire/link/connection.h", "include/bellwether/workflow")
# Each has an owner that joins it.
THREADS = ("src/core/journal/journal.cc", "src/lead/api/leadership.cc", "src/lead/metrics/lease_figures.cc",
           "src/jobs/client/client_engine.cc", "src/load/local/load_thread.cc", "src/load/local/request_log.cc",
           "src/load/results/recorder.cc", "src/core/runtime/epoll/blocking_pool.cc",
           "target/server.cc")
# A client that its user destroys from within a callback ends its thread after that callback.
DETACHED = ("src/jobs/client/client_engine.cc",)

RULES = (
    (re.compile(r"\bcoroutine_handle\b"), HANDLES, "a coroutine is started by a Scope or awaited as a task"),
    (re.compile(r"\bstd::(?:thread\(|async\b|jthread\b)|\bpthread_create\b|\bnew std::thread\b"), THREADS,
     "a thread has an owner that joins it; name the file in tools/check_scopes.py when it has"),
    (re.compile(r"\bdetach\(\)"), DETACHED, "whatever goes on beside is joined"),
)


def check(root):
    complaints = []
    for path in house.below(house.files(root, "*.h", "*.cc"), "src", "include", "target"):
        if any(path.match(pattern) for pattern in TESTS):
            continue
        for number, line in house.lines(root, path):
            code = line.split("//")[0]
            for found, allowed, remedy in RULES:
                if found.search(code) and not str(path).startswith(allowed):
                    complaints.append(f"{path}:{number}: {remedy}")
    return complaints


if __name__ == "__main__":
    house.main(check)
