#!/usr/bin/env python3
"""Suites that others wrote, run against the built command. What differs from a suite is listed in deviations.py."""

import html.parser
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import packages  # noqa: E402
from deviations import DEVIATIONS  # noqa: E402
from lib import product  # noqa: E402
from lib.server import Served, response  # noqa: E402

NOTHING = "(nothing)"
CHUNK = 50  # steps that run at once, each with a connection


def text_of(value):
    """A text of a scenario file that stands for itself."""
    return json.dumps(value.replace("${", "$${"), ensure_ascii=False)


class Suite(Served):
    def judge(self, suite, names, wrong):
        """`wrong`: what the product did, by the name of the case. These are exactly the known deviations."""
        known = {name for _, pattern in DEVIATIONS.get(suite, ()) for name in names if re.search(pattern, name)}
        print(f"{suite}: {len(names) - len(wrong)} of {len(names)} as the suite says", file=sys.stderr)
        self.assertEqual({name: what for name, what in wrong.items() if name not in known}, {}, "not as the suite says")
        self.assertEqual(known - set(wrong), set(), "listed in deviations.py, but as the suite says")

    def extracted(self, cases):
        """What each step got, if it got a response. `cases`: (answer of the server, extractions) by name."""
        out, names = {}, list(cases)
        for first in range(0, len(names), CHUNK):
            chunk, lines = names[first:first + CHUNK], []
            for i, name in enumerate(chunk):
                answer, wanted = cases[name]
                self.answers[f"/{i}"] = answer
                taken = ", ".join(f"v{k}: {{{how}, default: {text_of(NOTHING)}}}" for k, how in enumerate(wanted))
                sent = ", ".join(f'"${{v{k}}}"' for k in range(len(wanted)))
                # The server may be about to close the connection that the answer came on.
                lines += [f"      a{i}: {{http: {{get: /{i}}}, extract: {{{taken}}}}}",
                          f"      b{i}: {{after: a{i}, http: {{post: /told/{i}, json: [{sent}], retries: 2}}}}"]
            self.server.requests.clear()
            self.load("\n".join([f'defaults: {{http: {{base: "{self.server.url}"}}}}', "workflows:", "  w:",
                                 "    executor: per-vu-iterations", "    steps:", *lines, ""]))
            for request in self.server.requests:
                if request.path.startswith("/told/"):
                    out[chunk[int(request.path[6:])]] = json.loads(request.body)
        return out

    def refused(self, extractions):
        """Which of these `check` refuses. It names 20 errors of a file, and each of these has a line of its own."""
        out, names = set(), list(extractions)
        for first in range(0, len(names), 20):
            chunk = names[first:first + 20]
            run = self.bellwether("check", self.write("scenario.yaml", "\n".join(
                ["workflows: {w: {executor: per-vu-iterations, steps: {a: {http: {get: http://127.0.0.1/}, extract: {",
                 *(f"x{i}: {{{extractions[name]}}}," for i, name in enumerate(chunk)), "}}}}}", ""])))
            bad = {int(line) - 2 for line in re.findall(r"^\S*scenario\.yaml:(\d+):", run.err, re.M)}
            self.assertEqual(run.code, product.WRONG if bad else product.PASS, run)
            out |= {chunk[i] for i in bad}
        return out

    def rows(self, steps, rows, more="", **options):
        """One iteration by one user for each row, in order."""
        self.write("rows.json", json.dumps(rows))
        return self.load(f"""\
data: {{row: {{json: rows.json}}}}
defaults: {{http: {{base: "{self.server.url}"{more}}}}}
workflows:
  w:
    executor: per-vu-iterations
    vus: 1
    iterations: {len(rows)}
    steps:
{steps}
""", "--cores", "1", **options)

    # --- values of bodies ---

    def test_jsonpath(self):
        cases = {case["name"]: case for case in packages.jsonpath()}
        how = {name: f"json: {text_of(case['selector'])}" for name, case in cases.items()}
        refused = self.refused(how)
        wrong = {name: "refused" if name in refused else "accepted" for name, case in cases.items()
                 if (name in refused) != case.get("invalid_selector", False)}
        valid = {name: case for name, case in cases.items() if name not in refused and "document" in case}
        told = self.extracted({name: (response(json.dumps(case["document"]).encode()), [how[name]])
                               for name, case in valid.items()})
        for name, case in valid.items():
            firsts = [result[0] if result else NOTHING for result in case.get("results") or [case["result"]]]
            got = told.get(name, [None])[0]
            if not any(got == first if isinstance(first, str) else same(got, first) for first in firsts):
                wrong[name] = got
        self.judge("jsonpath", cases, wrong)

    def test_css_selectors_find(self):
        cases = {f"{i} {selector}": (page, selector, results)
                 for i, (page, selector, results) in enumerate(packages.pages())}
        how = {name: f"css: {text_of(selector)}" for name, (_, selector, _) in cases.items()}
        wrong = {name: "refused" for name in self.refused(how)}
        firsts = {name: Element(results[0]) if results else None for name, (_, _, results) in cases.items()}
        told = self.extracted({
            name: (response(page.encode(), headers=["Content-Type: text/html; charset=utf-8"]),
                   [how[name], *(f"{how[name]}, attribute: {key}" for key in (firsts[name].given if results else ()))])
            for name, (page, _, results) in cases.items() if name not in wrong})
        for name in cases.keys() - wrong:
            expected = [firsts[name].text, *firsts[name].given.values()] if firsts[name] else [NOTHING]
            if told.get(name) != expected:
                wrong[name] = told.get(name)
        self.judge("css", cases, wrong)

    def test_css_selectors_are_read(self):
        cases = dict(packages.selectors())
        refused = self.refused({selector: f"css: {text_of(selector)}" for selector in cases})
        self.judge("css syntax", cases, {selector: "refused" if selector in refused else "accepted"
                                              for selector, valid in cases.items() if (selector in refused) == valid})

    def test_json(self):
        cases = [(name, text) for name, text in packages.json_texts() if name[0] in "yn"]
        bodies = {f"/in/{i}": response(text.encode("utf-8", "surrogatepass")) for i, (_, text) in enumerate(cases)}
        self.server.respond = lambda request, _: bodies.get(request.path, response())
        self.rows("""\
      a: {http: {get: "/in/${row.i}"}, check: {json: valid}, on_error: skip}
      b: {after: a, http: {get: "/valid/${row.i}"}}""", [{"i": i} for i in range(len(cases))])
        valid = {int(path[7:]) for path in self.paths() if path.startswith("/valid/")}
        self.judge("json", dict(cases), {name: "valid" if i in valid else "invalid" for i, (name, _) in enumerate(cases)
                                         if (i in valid) != (name[0] == "y")})

    def test_csv(self):
        cases = packages.tables()
        wrong = {}
        for name, text, rows in cases:
            self.write("rows.csv", text)
            fields = ", ".join(f'"${{row.{column}}}"' for column in rows[0])
            self.server.requests.clear()
            self.load(f"""\
data: {{row: {{csv: rows.csv}}}}
workflows:
  w:
    executor: per-vu-iterations
    iterations: {len(rows)}
    steps: {{a: {{http: {{post: "{self.server.url}", json: [{fields}]}}}}}}
""", "--cores", "1")
            got = [json.loads(request.body) for request in self.server.requests]
            if got != [list(row.values()) for row in rows]:
                wrong[name] = got
        self.judge("csv", [name for name, _, _ in cases], wrong)

    # --- responses ---

    def test_http(self):
        cases = {f"{i} {sent.decode('latin-1')}": case for i, case in enumerate(packages.responses())
                 for sent in [case[0]]}

        def answer(sent):
            return lambda _, connection: connection.send(sent)  # and ends the connection
        told = self.extracted({
            name: (answer(sent), ["status: true", "body: true", *(f"header: {key}" for key in headers)])
            for name, (sent, _, headers, _) in cases.items()})
        wrong = {name: (told.get(name), [str(status), body, *headers.values()])
                 for name, (_, status, headers, body) in cases.items()
                 if told.get(name) != [str(status), body, *headers.values()]}
        self.judge("http", cases, wrong)

    # --- cookies and redirects: the server is the proxy, so it is every host ---

    def redirected(self, chains):
        """The requests of each chain of redirects. `chains`: lists of headers, which answer one request each."""
        seen, last = [[] for _ in chains], [0]

        def respond(request, _):
            if request.method == "CONNECT":  # has no field of the step, but comes right after what sent it there
                seen[last[0]].append(request)
                return response(status="502 Bad Gateway")
            if request.target.endswith("/answered"):
                return response()
            last[0] = i = int(request.header("x-case"))
            seen[i].append(request)
            headers = chains[i][len(seen[i]) - 1:][:1]
            return response(status="302 Found" if headers else "200 OK", headers=headers[0] if headers else ())
        self.server.respond = respond
        self.rows("""\
      a: {http: {get: "http://home.example.org:8888/cookie-parser?${row.i}", headers: {X-Case: "${row.i}"}}}
      b: {after: a, http: {get: "http://home.example.org:8888/answered"}}""",  # or pauses after failures would grow
                  [{"i": i} for i in range(len(chains))], f', proxy: "{self.server.url}"')
        return seen

    def test_cookies(self):
        cases = [case for case in packages.cookies() if not case["test"].startswith("DISABLED")]
        # What the suite takes for the future was that when it was written.
        chains = [[[*("Set-Cookie: " + re.sub(r"201[79]", "2199", cookie) for cookie in case["received"]),
                    f"Location: {case.get('sent-to', '/cookie-parser-result?' + case['test'])}"]] for case in cases]
        wrong = {}
        for case, [_, asked] in zip(cases, self.redirected(chains)):
            expected = "; ".join("=".join((one["name"], one["value"])) for one in case["sent"])
            got = (asked.header("cookie") or "").encode("latin-1").decode()
            if got != expected:
                wrong[case["test"]] = (got, expected)
        self.judge("cookies", [case["test"] for case in cases], wrong)

    def test_urls(self):
        cases = {}
        for i, case in enumerate(packages.urls()):
            base = str(case["base"])
            if not base.startswith("http:"):
                # Without a base of HTTP, the suite asks for URLs that need none.
                base = "http://example.org/foo/bar" if re.match(r"\s*(http://|https:)", case["input"], re.I) else None
            if base and not re.search("[\r\n\0\ud800-\udfff]", case["input"]):  # what no header field can carry
                cases[f"{i} {case['input']}"] = (base, case)
        chains = [[[f"Location: {base}"], [f"Location: {case['input']}"]] for base, case in cases.values()]
        wrong = {}
        for (name, (_, case)), requests in zip(cases.items(), self.redirected(chains)):
            got = [f"{request.method} {request.target}" for request in requests[2:]]
            href, expected = case.get("href", "").split("#")[0], []
            if not case.get("username") and not case.get("password"):
                if href.startswith("http:"):
                    expected = [f"GET {href}"]
                elif href.startswith("https:"):
                    expected = [f"CONNECT {case['hostname']}:{case['port'] or 443}"]
            if got[:1] != expected:
                wrong[name] = (got, expected)
        self.judge("urls", cases, wrong)


class Element(html.parser.HTMLParser):
    """The attributes and the text of a rendered element."""

    def __init__(self, rendered):
        super().__init__()
        self.given = None
        self.text = ""
        self.feed(rendered)
        self.close()

    def handle_starttag(self, tag, attributes):
        if self.given is None:
            self.given = {key: value or "" for key, value in attributes}

    def handle_data(self, data):
        self.text += data


def same(text, value):
    """Whether a text is this value in JSON."""
    try:
        return json.loads(text) == value
    except ValueError:
        return False


if __name__ == "__main__":
    product.main()
