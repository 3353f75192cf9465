"""What a comparison says: on the terminal, in Markdown for docs/performance.md, and as JSON."""

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import sys
from pathlib import Path

from lib.processes import Failure

ROOT = Path(__file__).resolve().parent.parent.parent


def spread(values, form="{:.2f}"):
    """Median [lowest–highest]."""
    values = list(values)
    return f"{form.format(statistics.median(values))} [{form.format(min(values))}–{form.format(max(values))}]"


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    virtual = "virtual machine, " if Path("/sys/hypervisor").exists() or "hypervisor" in cpu_flags() else ""
    return (f"{model}, {os.cpu_count()} processors, {virtual}Linux {platform.release()}, "
            f"{datetime.date.today().isoformat()}")


def cpu_flags():
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    match = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return match.group(1).split() if match else []


def processor_ticks():
    """(all, those that the host of this virtual machine gave to others) since the machine began."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[7]


class Report:
    """Tables and remarks in the order in which they were added, and the raw figures."""

    def __init__(self, name, command):
        self.name = name
        self.command = command
        self.parts = []
        self.raw = {}
        self.ticks = processor_ticks()

    def place(self):
        """The machine, and how much of it was missing meanwhile: figures of a machine that is not there are not its."""
        before, stolen_before = self.ticks
        now, stolen_now = processor_ticks()
        percent = 100 * (stolen_now - stolen_before) / max(1, now - before)
        return machine() + (f"; its host kept {percent:.0f} % of its processor time for others" if percent >= 1 else "")

    def table(self, title, header, rows):
        self.parts.append((title, [header, *[[str(cell) for cell in row] for row in rows]]))

    def remark(self, text):
        self.parts.append((text, None))

    def goals(self, goals):
        """(what, value, "<=" or ">=", bound, form) each."""
        rows = []
        for what, value, relation, bound, form in goals:
            reached = value <= bound if relation == "<=" else value >= bound
            sign = {"<=": "≤", ">=": "≥"}[relation]
            rows.append([what, form.format(value), f"{sign} {bound}", "yes" if reached else "**no**"])
        self.table("Goals", ["what", "measured", "goal", "reached"], rows)

    def text(self):
        out = [self.place(), ""]
        for title, rows in self.parts:
            out.append(title)
            if rows is not None:
                widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
                for row in rows:
                    out.append("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
                out.append("")
        return "\n".join(out).replace("**", "") + "\n"

    def markdown(self):
        out = [f"`{self.command}` on {self.place()}.", ""]
        for title, rows in self.parts:
            out += [title if rows is None else f"**{title}**", ""]
            if rows is not None:
                head, *body = rows
                out += [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body)] + [""]
        return "\n".join(out)

    def write_markdown(self, file):
        """Replaces this comparison's section of a page that has one (between two marks), else makes a new file."""
        begin, end = f"<!-- {self.name}: begin -->", f"<!-- {self.name}: end -->"
        section = f"{begin}\n{self.markdown()}{end}"
        page = Path(file)
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        if begin in old and end in old:
            section = old[:old.index(begin)] + section + old[old.index(end) + len(end):]
        elif old:
            raise Failure(f"{file} has no section between '{begin}' and '{end}' to write to; name a new file")
        else:
            section += "\n"
        page.write_text(section, encoding="utf-8")


def parser(description):
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--build", default=ROOT / "build/release", type=Path, help="build folder to measure")
    arguments.add_argument("--markdown", metavar="FILE",
                           help="write the tables here too, in docs/performance.md to their section")
    arguments.add_argument("--json", metavar="FILE", help="write the single figures here")
    arguments.add_argument("--quick", action="store_true", help="short: shows that it works, not what is true")
    return arguments


def built(folder, path):
    """The path of something that the build folder must contain, as text."""
    file = Path(folder, path).resolve()
    if not file.exists():
        raise Failure(f"{file} does not exist; `./dev bench` builds it (or --build names another build folder)")
    return str(file)


def main(name, arguments, compare):
    """Runs `compare(options, report)` and shows its report. Exits with 1 when it fails, 105 on Ctrl-C."""
    options = arguments.parse_args()
    report = Report(name, f"./dev bench {' '.join([name, *without_files(sys.argv[1:])])}")
    try:
        compare(options, report)
        print(report.text(), end="")
        if options.markdown:
            report.write_markdown(options.markdown)
        if options.json:
            figures = {"bench": name, "machine": report.place(), "command": report.command, **report.raw}
            Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    except (Failure, OSError) as error:
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt:
        sys.exit(105)


def without_files(words):
    """The command without where its output went, which is no part of what was measured."""
    text = re.sub(r"(^| )--(markdown|json|build)[= ]\S+", "", " ".join(words))
    return text.split()
