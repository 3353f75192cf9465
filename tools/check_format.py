#!/usr/bin/env python3
"""C++ files look as .clang-format says (`./dev format` makes them so)."""

import re
import subprocess

import house

WARNING = re.compile(r"^(.+?):(\d+):\d+: .*\[-Wclang-format-violations\]$")


def check(root):
    paths = [str(path) for path in house.files(root, "*.h", "*.cc")]
    if not paths:
        return []
    run = subprocess.run(["clang-format-16", "--dry-run", *paths], cwd=root, capture_output=True, text=True)
    first = {}
    for line in run.stderr.splitlines():
        match = WARNING.match(line)
        if match:
            first.setdefault(match.group(1), match.group(2))
    if run.returncode != 0 and not first:
        return [f"clang-format-16 failed: {run.stderr.strip()}"]
    return [f"{path}:{line}: not as .clang-format says; run ./dev format" for path, line in first.items()]


if __name__ == "__main__":
    house.main(check)
