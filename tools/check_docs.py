#!/usr/bin/env python3
"""Documents tell the truth about the tree: links, named paths and verbs of ./dev exist, docs/contributing/folders.md
walks through every folder, and no page is too long but those that the command writes."""

import re
from pathlib import Path

import house

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# A path in code style, by its top folder. Anything with a placeholder or a pattern in it is not a path.
PATH = re.compile(r"^(src|docs|tests|tools|cmake|examples|bench|target|include)/[\w./-]*$")
PLACEHOLDER = re.compile(r"NNN|NAME|PRESET")
LINES = 300
# Pages that the command writes from its help.
CLI = Path("docs/reference/cli")
# The ledger also names what is still to be built.
LEDGER = Path("docs/contributing/ledger")


def check(root):
    complaints = []
    for path in house.files(root, "*.md"):
        complaints += check_page(root, path)
    complaints += check_walk(root)
    readme = Path(root, "README.md")
    if readme.is_file():
        complaints += check_verbs(root, readme.read_text(encoding="utf-8"))
    return complaints


def check_page(root, path):
    text = Path(root, path).read_text(encoding="utf-8")
    count = text.count("\n")
    if count > LINES and path.parent != CLI:
        yield f"{path}: {count} lines; at most {LINES}, split it"
    text = FENCED.sub(lambda block: "\n" * block.group().count("\n"), text)
    for match in LINK.finditer(text):
        wrong = check_link(root, path, match.group(1))
        if wrong:
            yield f"{path}:{line_of(text, match)}: {wrong}"
    for match in CODE.finditer(text) if path.parent != LEDGER else ():
        code = match.group(1)
        if PATH.match(code) and not PLACEHOLDER.search(code) and not Path(root, code).exists():
            yield f"{path}:{line_of(text, match)}: there is no {code}"


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def check_link(root, path, target):
    if re.match(r"^[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    file = Path(root, path.parent, name) if name else Path(root, path)
    if not file.exists():
        return f"the link to {target} leads nowhere"
    if anchor and anchor not in anchors(file):
        return f"{name or path} has no heading for #{anchor}"
    return None


def anchors(file):
    """GitHub's names for the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_walk(root):
    """Each folder is told of: below a district in its README, by the name that it has there, else in the walk."""
    folders = {path.parent for path in house.files(root, "*") if path.parent.parts}
    for folder in sorted(folders):
        if folder.parts[0].startswith("."):
            continue
        inside = folder.parts[0] == "src" and len(folder.parts) > 2
        page = Path(*folder.parts[:2], "README.md") if inside else Path("docs/contributing/folders.md")
        name = f"`{Path(*folder.parts[2:])}`" if inside else f"`{folder}/`"
        text = Path(root, page).read_text(encoding="utf-8") if Path(root, page).is_file() else ""
        if name not in text:
            yield f"{page}: nothing about {name}"


def check_verbs(root, readme):
    blocks = re.findall(r"^```(?:sh|console|bash)?\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    commands = [line.split("#")[0].split() for block in blocks for line in block.splitlines()]
    verbs = set(re.findall(r"^verb_(\w+)\(\)", Path(root, "dev").read_text(encoding="utf-8"), re.MULTILINE))
    for command in filter(None, commands):
        if command[0] == "./dev" and len(command) > 1 and command[1] not in verbs | {"--help"}:
            yield f"README.md: ./dev has no verb '{command[1]}'"


if __name__ == "__main__":
    house.main(check)
