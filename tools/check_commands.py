#!/usr/bin/env python3
"""Documents name commands and options that exist: those of docs/reference/cli, which the command writes and a test
compares with its help.

A command is a line of a fenced block, or code in a sentence, that begins with `bellwether WORD` (also behind
`./dev run --`). An option alone in a sentence, such as `--vus`, must belong to any command, or to a tool of the tree.
"""

import re
from pathlib import Path

import house

CLI = Path("docs/reference/cli")
# Pages about other tools, whose options they name; and the pages of the past.
FOREIGN = re.compile(
    r"^(CHANGELOG\.md|docs/load/guides/from-|docs/contributing/(decisions|ledger)/|docs/comparison\.md)")
# Options of tools that documents name alone: dev, its tools, and the programs of Debian.
OTHERS = {"--all", "--help", "--version", "--markdown", "--quick", "--jobs", "--select", "--label", "--prefix",
          "--count", "--build", "--bump-revision", "--only"}
HEADING = re.compile(r"^#+ bellwether (.+)$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
FENCE = re.compile(r"^ *```.*?\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
START = re.compile(r"(?:^|[\s;&|(]|\S*/)bellwether ([a-z][^\n]*)|^\./dev run -- ([a-z][^\n]*)")


def commands(root):
    """Path of a command → its options."""
    known = {}
    for page in sorted(Path(root, CLI).glob("*.md")):
        parts = HEADING.split(page.read_text(encoding="utf-8"))
        for path, text in zip(parts[1::2], parts[2::2]):
            cells = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
            known[path] = {name for cell in cells for name in OPTION.findall(cell)} | {"-h", "--help"}
    return known


def complaints_of(command, known):
    """`command`: what follows `bellwether`."""
    words = re.split(r"\s+", re.sub(r"'[^']*'|\"[^\"]*\"", "X", command.replace("\\\n", " ")).strip())
    path = words.pop(0)
    if path not in known:
        yield f"there is no command '{path}'"
        return
    while words and f"{path} {words[0]}" in known:
        path += " " + words.pop(0)
    if words and re.fullmatch(r"[a-z]+", words[0]) and any(name.startswith(path + " ") for name in known):
        if path not in ("worker", "loops", "lease", "help"):
            yield f"there is no command '{path} {words[0]}'"
    for word in words:
        if word in ("--", "#", "|", "&&", ";", ">") or word.startswith("#"):
            return
        option = OPTION.match(word)
        if option and option.group(1) not in known[path]:
            yield f"'{path}' has no option '{option.group(1)}'"


def check_page(path, text, known):
    every = set().union(*known.values()) | OTHERS
    blocks = "\n".join(FENCE.findall(text))
    spans = CODE.findall(FENCE.sub("", text))
    for line in re.sub(r"\\\n\s*", " ", blocks).splitlines() + spans:
        for match in START.finditer(line):
            for complaint in complaints_of(match.group(1) or match.group(2), known):
                yield f"{path}: {complaint}: {line.strip()[:90]}"
    for span in spans:
        if re.fullmatch(r"--[a-z][\w-]*(?:[ =].*)?", span) and OPTION.match(span).group(1) not in every:
            yield f"{path}: no command has the option '{span}'"


def check(root):
    known = commands(root)
    if not known:
        return [f"{CLI}: no pages; `bellwether help --markdown {CLI}` writes them"]
    found = []
    for path in house.files(root, "*.md"):
        if not FOREIGN.match(str(path)):
            found += check_page(path, Path(root, path).read_text(encoding="utf-8"), known)
    return found


if __name__ == "__main__":
    house.main(check)
