"""What the house checks share: which files there are, and how a check reports.

A check is a module with `check(root) -> list of complaints`; a complaint is one line, "file:line: what is wrong, what
to do".
`python3 tools/check_x.py [--root FOLDER]` prints the complaints and fails when there are any.
"""

import argparse
import os
import sys
from pathlib import Path

SKIPPED_FOLDERS = {".git", "build", "__pycache__", "corpus"}


def files(root, *patterns):
    """Files of the tree whose name matches one of the patterns ("*.cc"), as sorted paths relative to root."""
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS]
        paths = (Path(folder, name).relative_to(root) for name in names)
        found += [path for path in paths if any(path.match(pattern) for pattern in patterns)]
    return sorted(found)


def below(paths, *folders):
    """Those of the paths that lie in one of the top-level folders."""
    return [path for path in paths if path.parts[0] in folders]


def lines(root, path):
    """The numbered lines of a file, from 1."""
    return enumerate(Path(root, path).read_text(encoding="utf-8", errors="replace").splitlines(), start=1)


def main(check):
    parser = argparse.ArgumentParser(description=sys.modules[check.__module__].__doc__)
    parser.add_argument("--root", default=Path(__file__).resolve().parent.parent, help="the tree to look at")
    complaints = check(Path(parser.parse_args().root))
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)
