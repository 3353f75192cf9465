#!/usr/bin/env python3
"""The ledger (docs/contributing/ledger) is honest: each row has a status, and what is built names a proof that exists.

A row ends with two cells, status and proof. Status is `built`, `partial` or `not yet`. The proof of a built or partial
row names in code style a file of the tree, a GoogleTest case (Suite.name), or a test of ctest (unit.metrics).
"""

import re
from pathlib import Path

import house

STATUSES = ("built", "partial", "not yet")
CASE = re.compile(r"\b(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)")
CELL = re.compile(r"(?<!\\)\|")


def check(root):
    complaints = []
    proofs = None
    seen = {}
    for path in house.files(Path(root, "docs/contributing/ledger"), "*.md"):
        for number, line in house.lines(Path(root, "docs/contributing/ledger"), path):
            cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
            if len(cells) < 4 or not re.match(r"^[A-Z]+-\d+[a-z]?$", cells[0]):
                continue
            place = f"docs/contributing/ledger/{path}:{number}: {cells[0]}"
            status, proof = cells[-2:]
            if cells[0] in seen:
                complaints.append(f"{place} is also at {seen[cells[0]]}")
            seen[cells[0]] = f"{path}:{number}"
            if status not in STATUSES:
                complaints.append(f"{place} has the status '{status}'; it must be one of: {', '.join(STATUSES)}")
            if status in ("built", "partial"):
                proofs = all_proofs(root) if proofs is None else proofs
                names = re.findall(r"`([^`]+)`", proof)
                if not names:
                    complaints.append(f"{place} is {status} but names no proof")
                gone = [name for name in names if not exists(root, name, proofs)]
                complaints += [f"{place}: the proof {name} does not exist" for name in gone]
    return complaints


def exists(root, name, proofs):
    return name in proofs or ("/" in name and Path(root, name).exists())


def all_proofs(root):
    """The names of all test cases, and of all tests that ctest knows by the rooms' CMakeLists.txt."""
    names = set()
    for path in house.files(root, "*_test.cc"):
        names |= {f"{suite}.{case}" for suite, case in CASE.findall(Path(root, path).read_text(encoding="utf-8"))}
    for path in house.files(root, "CMakeLists.txt"):
        listing = Path(root, path).read_text(encoding="utf-8")
        names |= set(re.findall(r"add_test\(\s*NAME\s+([\w.-]+)", listing))
        names |= {f"unit.{room}" for room in re.findall(r"module\(\s*NAME\s+(\w+)", listing)}
    return names


if __name__ == "__main__":
    house.main(check)
