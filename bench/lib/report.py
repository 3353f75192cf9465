"""What a comparison says: on the terminal, in Markdown for docs/contributing/measurements, and as JSON."""

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import sys
from pathlib import Path

from lib.needs import ROOT, SCRIPT, Missing
from lib.processes import PROCESSORS, Failure

SKIPPED = 77  # the exit code of a quick run of what this machine has no program for
INTERRUPTED = 105
DOCS = ROOT / "docs"
SIGNS = {"<=": "≤", ">=": "≥"}


def percentile(values, percent):
    ranked = sorted(values)
    return ranked[max(0, round(percent / 100 * len(ranked)) - 1)]


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
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    virtual = "virtual machine, " if Path("/sys/hypervisor").exists() or "hypervisor" in cpu_flags() else ""
    return (f"{model}, {os.cpu_count()} processors, {memory:.1f} GiB of memory, {virtual}"
            f"Linux {platform.release()}, {datetime.date.today().isoformat()}")


def cpu_flags():
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    match = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return match.group(1).split() if match else []


def processor_ticks():
    """(all, those that the host of this virtual machine gave to others) since the machine began."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[7]


def section(heading):
    """A link from docs/performance.md to this heading of a page of measurements."""
    for page in sorted((DOCS / "contributing/measurements").glob("*.md")):
        if re.search(rf"^#+ {re.escape(heading)}$", page.read_text(encoding="utf-8"), re.MULTILINE):
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            return f"[{heading}]({page.relative_to(DOCS)}#{anchor})"
    raise Failure(f"no page of docs/contributing/measurements has the heading '{heading}'")


def plain(cell):
    """A cell without its Markdown."""
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell).replace("**", "")


class Report:
    """Tables and remarks in the order in which they were added, the headlines, and the raw figures."""

    def __init__(self, name, command, quick):
        self.name = name
        self.command = command
        self.quick = quick
        self.parts = []
        self.headlines = []  # rows of the table of `./dev bench all`: figure, measured, goal, met, section
        self.raw = {}
        self.ticks = processor_ticks()

    def place(self):
        """The machine, and how much of it was missing meanwhile: figures of a machine that is not there are not its."""
        before, stolen_before = self.ticks
        now, stolen_now = processor_ticks()
        percent = 100 * (stolen_now - stolen_before) / max(1, now - before)
        return (machine() + ("; all on one processor" if len(PROCESSORS) == 1 else "") +
                (f"; its host kept {percent:.0f} % of its processor time for others" if percent >= 1 else ""))

    def table(self, title, header, rows):
        self.parts.append((title, [header, *[[str(cell) for cell in row] for row in rows]]))

    def remark(self, text):
        self.parts.append((text, None))

    def goals(self, goals):
        """(what, value, "<=" or ">=", bound, form) each. A headline also has the heading of its section in the docs."""
        rows = []
        for what, value, relation, bound, form, *heading in goals:
            met = value <= bound if relation == "<=" else value >= bound
            rows.append([what, form.format(value), f"{SIGNS[relation]} {bound:,}", "yes" if met else "**no**"])
            self.headlines += [[*rows[-1][:3], "" if self.quick else rows[-1][3], section(one)] for one in heading]
        if rows and not self.quick:
            self.table("Goals", ["what", "measured", "goal", "met"], rows)

    def text(self):
        out = [self.place(), ""]
        for title, rows in self.parts:
            out.append(title)
            if rows is not None:
                rows = [[plain(cell) for cell in row] for row in rows]
                widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
                for row in rows:
                    out.append("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
                out.append("")
        return "\n".join(out) + "\n"

    def markdown(self):
        out = [f"`{self.command}` on {self.place()}.", ""]
        for title, rows in self.parts:
            out += [title if rows is None else f"**{title}**", ""]
            if rows is not None:
                head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
                out += [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body)] + [""]
        return "\n".join(out)

    def write_markdown(self, file):
        """Replaces this comparison's section of a page that has one (between two marks), else makes a new file."""
        begin, end = f"<!-- {self.name}: begin -->", f"<!-- {self.name}: end -->"
        text = f"{begin}\n{self.markdown()}{end}"
        page = Path(file)
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        if begin in old and end in old:
            text = old[:old.index(begin)] + text + old[old.index(end) + len(end):]
        elif old:
            raise Failure(f"{file} has no section between '{begin}' and '{end}' to write to; name a new file")
        else:
            text += "\n"
        page.write_text(text, encoding="utf-8")


def page_of(name):
    """The page with the section of this comparison."""
    for page in sorted(DOCS.rglob("*.md")):
        if f"<!-- {name}: begin -->" in page.read_text(encoding="utf-8"):
            return page
    raise Failure(f"no page of docs/ has a section '<!-- {name}: begin -->'; name a new file")


def parser(description):
    arguments = argparse.ArgumentParser(description=description, allow_abbrev=False)
    arguments.add_argument("--build", default=ROOT / "build/release", type=Path, help="build folder to measure")
    arguments.add_argument("--markdown", metavar="FILE", nargs="?", const="",
                           help="write the tables to their section of FILE too (default: the page that has it)")
    arguments.add_argument("--json", metavar="FILE", help="write the single figures here")
    arguments.add_argument("--quick", action="store_true",
                           help="everything once and in small: shows that it works; its figures mean nothing")
    return arguments


def main(arguments, compare, **quick):
    """Runs `compare(options, report)` and shows its report. `quick`: other defaults of the options with --quick.

    Exits with what `compare` returns (None: 0), with 1 when it fails, with 105 on Ctrl-C, and a quick run with 77 when
    this machine lacks a program that it needs.
    """
    options = arguments.parse_args()
    if options.quick:
        arguments.set_defaults(**quick)
        options = arguments.parse_args()
        if options.markdown == "":
            arguments.error("the figures of a quick run mean nothing, so --markdown needs a FILE with --quick")
    report = Report(SCRIPT.stem, f"./dev bench {' '.join([SCRIPT.stem, *without_files(sys.argv[1:])])}", options.quick)
    try:
        if options.markdown == "":
            options.markdown = page_of(report.name)
        code = compare(options, report)
        print(report.text(), end="")
        if options.quick:
            print("This was a quick run, which shows that the bench works. Its figures mean nothing.")
        if options.markdown:
            report.write_markdown(options.markdown)
        if options.json:
            figures = {"bench": report.name, "machine": report.place(), "command": report.command,
                       "headlines": report.headlines, **report.raw}
            Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    except Missing as missing:
        print(f"{'skipped' if options.quick else report.name}: {missing}", file=sys.stderr)
        code = SKIPPED if options.quick else 1
    except (Failure, AssertionError, OSError) as error:
        sys.exit(f"{report.name}: {error}")
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def without_files(words):
    """The command without where its output went, which is no part of what was measured."""
    text = re.sub(r"(^| )--(markdown|json)([= ](?!-)\S+)?(?= |$)", "", " ".join(words))
    return text.split()
