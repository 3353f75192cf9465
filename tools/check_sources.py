#!/usr/bin/env python3
"""No source is forgotten: each .cc file is named in the CMakeLists.txt of its folder or of one above."""

from pathlib import Path

import house


def check(root):
    complaints = []
    for path in house.below(house.files(root, "*.cc"), "src", "target", "bench", "tests"):
        if not any(names(root, folder, path.relative_to(folder)) for folder in path.parents):
            # Shared mains are compiled into targets that cmake/ makes.
            if not mentioned(Path(root, "cmake"), str(path)):
                complaints.append(f"{path}: in no CMakeLists.txt, so it is never built")
    return complaints


def names(root, folder, name):
    listing = Path(root, folder, "CMakeLists.txt")
    return listing.is_file() and str(name) in words(listing)


def mentioned(folder, name):
    return any(name in listing.read_text(encoding="utf-8") for listing in folder.glob("*.cmake"))


def words(listing):
    code = (line.split("#")[0] for line in listing.read_text(encoding="utf-8").splitlines())
    return set(" ".join(code).replace("(", " ").replace(")", " ").split())


if __name__ == "__main__":
    house.main(check)
