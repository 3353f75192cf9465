#!/usr/bin/env python3
"""A run watches itself: it says when its own machine was the bottleneck, since when, why, and what helps."""

import json
import resource
import subprocess
import xml.etree.ElementTree as xml

from lib import product
from lib.server import Server

# In a network of its own: few ports, and a target that never ends a connection.
FEW_PORTS = """\
set -e
ip link set lo up
echo 40000 40015 > /proc/sys/net/ipv4/ip_local_port_range
"$BELLWETHER" target --listen 127.0.0.1:8080 > target.txt 2>&1 &
target=$!
trap 'kill $target' EXIT
until (exec 3<> /dev/tcp/127.0.0.1/8080) 2> /dev/null; do kill -0 $target; done
"$BELLWETHER" run http://127.0.0.1:8080/ --vus 60 --duration 1s --ui ci --out json=result.json --ignore-limits
"""


class Watch(product.Test):
    def limited_to(self, files):
        """Of open files. Root may raise any limit, so the right to do so is given up."""
        def prepare():
            import ctypes
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            libc = ctypes.CDLL(None)
            libc.prctl(47, 4, 0, 0, 0)
            libc.prctl(24, 24, 0, 0, 0)
        return prepare

    def said(self, result, cause):
        """The finding of this cause, which is among the events too."""
        found = [one for one in result["run"]["generator"]["findings"] if one["cause"] == cause]
        self.assertTrue(found, result["run"]["generator"])
        events = [one for one in result["events"] if one["kind"] == "generator_saturated"]
        self.assertTrue(any("remedy:" in one["detail"] for one in events), result["events"])
        for one in found:
            self.assertLessEqual(one["from"], one["to"])
        return found[0]

    def test_no_descriptors(self):
        report = self.folder / "report.html"
        junit = self.folder / "junit.xml"
        with Server() as server:
            run = self.load(server.url, "--vus", "200", "--duration", "1s", "--ignore-limits", "--out",
                            f"html={report}", "--out", f"junit={junit}", preexec_fn=self.limited_to(100),
                            environment={"UBSAN_OPTIONS": f"suppressions={self.write('suppressions', 'vptr:*')}"})
        found = self.said(run.result, "exhausted")
        self.assertGreater(found["worst"], 0)
        words = " ".join(run.out.split())
        self.assertIn("The generator was a bottleneck:", words)
        self.assertIn("raise 'ulimit -n'", words)
        page = report.read_text(encoding="utf-8")
        self.assertIn("The load generator was saturated:", page)
        self.assertIn("generator_saturated", page)
        self.assertIn("What helps:", xml.parse(junit).find("testsuite/system-out").text)

    def test_no_ports(self):
        if subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no network namespace can be made here")
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "BELLWETHER": product.binary,
                       "XDG_DATA_HOME": str(self.folder / "data")}
        run = subprocess.run(["unshare", "-rn", "bash", "-c", FEW_PORTS], cwd=self.folder, env=environment,
                             capture_output=True, text=True, timeout=product.PATIENCE, check=False)
        self.assertTrue((self.folder / "result.json").exists(), run.stdout + run.stderr)
        result = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        found = self.said(result, "exhausted")
        self.assertIn("no free port", found["what"])
        self.assertRegex(run.stderr, r"(?m)^ *\d+s  generator_saturated: .*ip_local_port_range")

    def test_a_generator_that_has_all_it_needs_says_nothing(self):
        with Server() as server:
            run = self.load(server.url, "--vus", "1", "-n", "5")
        self.assertEqual(run.result["events"], [])
        self.assertNotIn("findings", run.result["run"]["generator"])


if __name__ == "__main__":
    product.main()
