#!/usr/bin/env python3
"""Plain rules of text: lengths, tabs, and words that mark unfinished or misplaced code."""

import re

import house

CODE = ("*.cc", "*.h", "*.py", "*.cmake", "CMakeLists.txt", "dev", "run")
COLUMNS = 120
LINES_ASK_FOR_A_SECOND_LOOK = 400
LINES_MAX = 800

# (files that match, not in these top folders or rooms, pattern, what to do). The marks are spelled in two halves so
# that this file does not complain about itself.
BANNED = [
    (CODE, (), re.compile("TO" "DO|FIX" "ME|XX" "X|HA" "CK"), "finish it, or write an issue"),
    (("*.cc", "*.h"), ("src/cli", "src/load/report", "src/load/console", "target", "bench", "tests"),
     re.compile(r"std::cout"),
     "only the rooms that talk to people print"),
    (("*_test.cc",), (), re.compile(r"this_thread::sleep|\b(usleep|nanosleep)\(|(^|[^\w.>:])(::)?sleep\("),
     "a test waits for what it needs, never for luck"),
]


def check(root):
    complaints = []
    for path in house.files(root, *CODE, "*.yaml", "*.json", "*.md"):
        code = any(path.match(pattern) for pattern in CODE)
        count = 0
        for count, line in house.lines(root, path):
            place = f"{path}:{count}"
            if "\t" in line:
                complaints.append(f"{place}: a tab; indent with spaces")
            if line != line.rstrip():
                complaints.append(f"{place}: trailing blanks")
            if code and len(line) > COLUMNS:
                complaints.append(f"{place}: {len(line)} columns; at most {COLUMNS}")
            complaints += banned(path, place, line)
        if code and count > LINES_MAX:
            complaints.append(f"{path}: {count} lines; at most {LINES_MAX}, cut it where the purpose changes")
        elif code and count > LINES_ASK_FOR_A_SECOND_LOOK:
            print(f"note: {path} has {count} lines; over {LINES_ASK_FOR_A_SECOND_LOOK} it deserves a second look")
    return complaints


def banned(path, place, line):
    for patterns, exempt, expression, remedy in BANNED:
        if not any(path.match(pattern) for pattern in patterns) or str(path).startswith(exempt):
            continue
        match = expression.search(line)
        if match:
            yield f"{place}: '{match.group().strip()}': {remedy}"


if __name__ == "__main__":
    house.main(check)
