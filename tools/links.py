#!/usr/bin/env python3
"""A room links against nothing but the rooms that it declares.

links.py BUILD: BUILD/rooms.txt has a line a room, "LIBRARY ARCHIVE DEPENDENCY…". A symbol that an archive needs
and another room defines must come from a dependency, or from a dependency of one.
"""

import subprocess
import sys
from pathlib import Path


def symbols(archive):
    """(what it defines, what it needs)"""
    listed = subprocess.run(["nm", "--portability", "--no-sort", "--extern-only", archive], capture_output=True,
                            text=True, check=True).stdout
    defined, needed = set(), set()
    for line in listed.splitlines():
        # "name type value size"; a line of one word names a member of the archive.
        name, _, rest = line.partition(" ")
        if rest:
            (needed if rest[0] == "U" else defined).add(name)
    return defined, needed


def read_rooms(build):
    rooms = {}
    for line in Path(build, "rooms.txt").read_text(encoding="utf-8").splitlines():
        name, archive, *dependencies = line.split()
        rooms[name] = (archive, dependencies)
    return rooms


def reach(rooms, name):
    found, left = set(), [name]
    while left:
        room = left.pop()
        if room not in found:
            found.add(room)
            left += rooms[room][1] if room in rooms else []
    return found


def check(rooms, defined, needed):
    """`defined`, `needed`: the symbols of each room."""
    homes = {}
    for name, names in defined.items():
        for symbol in names:
            homes.setdefault(symbol, set()).add(name)
    complaints = []
    for name in rooms:
        allowed = reach(rooms, name)
        strange = {}
        for symbol in needed[name] - defined[name]:
            home = homes.get(symbol, set())
            if home and not home & allowed:
                strange.setdefault(min(home), symbol)
        complaints += [f"{name} needs {home}, which its DEPS do not name (for {symbol})"
                       for home, symbol in sorted(strange.items())]
    return complaints


def main():
    rooms = read_rooms(sys.argv[1])
    found = {name: symbols(archive) for name, (archive, _) in rooms.items()}
    defined = {name: names for name, (names, _) in found.items()}
    needed = {name: names for name, (_, names) in found.items()}
    complaints = check(rooms, defined, needed)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
