#!/usr/bin/env python3
"""A file-local name is defined once in a room, because the sources of a room are compiled a dozen or two at a time.

Looked at are constants, types and functions in unnamed namespaces, and aliases. The same alias, and functions that
differ in their parameters, may stand in several sources. The compiler finds the rest, but only between sources that
share a unit today.
"""

import re
from collections import defaultdict
from pathlib import Path

import house

MODULE = re.compile(r"(?:module\(|add_executable\(bellwether\b).*?\)\n", re.DOTALL)
LISTS = re.compile(r"\b(SOURCES|TESTS|FUZZ|DEPS|LIBS|TEST_DEPS)\b")
TYPE = re.compile(r"^(?:class|struct|enum class|enum|union) (\w+)\b(?!.*;$)")
ALIAS = re.compile(r"^using (\w+) = (.*)")
CONSTANT = re.compile(r"^(?:static )?(?:inline )?const(?:expr|init)? [^(]*?\b(\w+)(?:\[[^\]]*\])*(?: =|\{)")
FUNCTION = re.compile(r"^[\w:<>,&*~ ]+?[ &*](\w+)\((.*)$")


def check(root):
    complaints = []
    for listing in house.files(root, "CMakeLists.txt"):
        for sources in units(Path(root, listing)):
            seen, aliases = defaultdict(list), {}
            for source in sources:
                path = Path(listing.parent, source)
                if Path(root, path).is_file():
                    for name, what, number in names(Path(root, path)):
                        seen[what].append((path, number, name))
                    for number, line in enumerate(Path(root, path).read_text(encoding="utf-8").splitlines(), start=1):
                        if match := ALIAS.match(line):
                            meaning, first = aliases.setdefault(match[1], (match[2], path))
                            if meaning != match[2]:
                                complaints.append(f"{path}:{number}: '{match[1]}' means something else in {first}")
            for places in seen.values():
                first = places[0]
                complaints += [f"{path}:{number}: '{name}' also names something in {first[0]}; file-local names differ "
                               "within a room" for path, number, name in places[1:] if path != first[0]]
    return sorted(complaints)


def units(listing):
    """The lists of sources that are compiled together."""
    text = re.sub(r"#.*", "", listing.read_text(encoding="utf-8"))
    for block in MODULE.findall(text + "\n"):
        parts = LISTS.split(block)
        lists = {"SOURCES": parts[0]} if len(parts) == 1 else dict(zip(parts[1::2], parts[2::2]))
        for kind in ("SOURCES", "TESTS"):
            yield re.findall(r"[\w/]+\.cc\b", lists.get(kind, ""))


def names(path):
    """(name, what must be unique, line) of each definition in an unnamed namespace."""
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith(("namespace {", "}  // namespace")):
            inside = line.startswith("namespace {")
        if not inside or not line[:1].isalpha():
            continue
        if ALIAS.match(line):
            continue
        if match := TYPE.match(line) or CONSTANT.match(line):
            yield match.group(1), match.group(1), number
        elif (match := FUNCTION.match(line)) and not line.startswith(("return", "using", "TEST", "RC_", "MATCHER")):
            parameters = match.group(2)
            if parameters.count("(") < parameters.count(")"):  # all of them are on this line
                yield match.group(1), (match.group(1), types_of(parameters)), number


def types_of(parameters):
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(parameters[end], 0)
        end += 1
    each = re.split(r",(?![^<]*>)", parameters[:end - 1])
    return tuple(re.sub(r"\s*\b\w+(?: = .*)?$", "", one.strip()) for one in each)


if __name__ == "__main__":
    house.main(check)
