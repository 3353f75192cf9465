#!/usr/bin/env python3
"""Documents and comments use plain words: docs/contributing/style.md, rules 1, 2 and 7. The phrases below stand for a
subject that is not named, or for a sentence that has to be read twice."""

import re
from pathlib import Path

import house

PHRASES = re.compile(
    r"\b(whoever|whom|those who|so (?:long|often|many|much) as|of theirs|(?:is|are|was|were) told|has it that|"
    r"for which|may as well|the usual one)\b", re.IGNORECASE)
# The style guide shows them; ledger and decisions quote requirements and the past.
EXCEPTIONS = re.compile(r"^(docs/contributing/(style\.md|ledger/|decisions/)|tests/)")
QUOTED = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)\n]*\)", re.DOTALL)
COMMENT = re.compile(r"^\s*//+ ?(.*)$|\s//+ (.*)$", re.MULTILINE)


def blank(match):
    return "\n" * match.group().count("\n")


def check(root):
    found = []
    for path in house.files(root, "*.md", "*.h", "*.cc"):
        if EXCEPTIONS.match(str(path)):
            continue
        text = Path(root, path).read_text(encoding="utf-8")
        if path.suffix == ".md":
            text = QUOTED.sub(blank, text)
        else:
            lines = [COMMENT.search(line) for line in text.splitlines()]
            text = "\n".join((match.group(1) or match.group(2) or "") if match else "" for match in lines)
        for match in PHRASES.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: '{match.group()}': name the subject, and say it plainly")
    return found


if __name__ == "__main__":
    house.main(check)
