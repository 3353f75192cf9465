#!/usr/bin/env python3
"""Workflows in C++ on a cluster: workers run what a key has signed that they trust, in processes of their own, and
nothing else."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lib import jobs, nodes
from lib.world import until

SOURCE = """\
#include <bellwether/workflow.h>
#include <csignal>
#include <unistd.h>
using namespace bellwether::workflow;
class Shop : public Workflow {
 public:
  static constexpr Settings settings{.name = "shop", .more = R"(
      executor: constant-arrival-rate, rate: 40/s, duration: 3s, vus: {preallocated: 60, max: 600}@MORE@)"};
  static void steps(Steps<Shop>& s) {
    s.step("look", &Shop::look).checks("has items");
    s.step("pay", &Shop::pay).after("look");
  }

 private:
  Task<Response> look() {
    auto response = co_await get("@URL@/items");
    check("has items", response.json(id_).number() > 0);
    @LOOK@
    co_return response;
  }
  Task<Response> pay() { co_return co_await get("@URL@/json"); }
  Path id_{"$[0].id"};
};
BELLWETHER_WORKFLOWS(Shop)
"""
# With a process of its own, which has all that the one that crashes had open.
CRASH = """if (iteration() >= 3) {
      if (::fork() == 0) while (true) ::pause();
      std::signal(SIGSEGV, SIG_DFL);
      std::raise(SIGSEGV);
    }"""
CIRCLE = "for (volatile bool ever = true; ever;) {}"


class Cluster(jobs.Cluster):
    """With two pairs of keys, `load` and `other`."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        for name in ("load", "other"):
            self.openssl("genpkey", "-algorithm", "ed25519", "-out", f"{name}.key")
            self.openssl("pkey", "-in", f"{name}.key", "-pubout", "-out", f"{name}.pub")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, cwd=self.folder, capture_output=True)

    def source(self, look="", more=""):
        text = SOURCE.replace("@URL@", self.url).replace("@LOOK@", look).replace("@MORE@", more)
        return self.write("shop.cc", text)

    def build(self, *words, look="", more=""):
        """The artifact."""
        out = self.folder / "shop.bw"
        code, text = self.command("build", self.source(look, more), "-o", out, *words)
        assert code == 0, text
        return out

    def command(self, *words):
        """(exit code, all that it says)"""
        done = subprocess.run([self.binary, *words], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=jobs.PATIENCE)
        return done.returncode, done.stdout

    def refused(self, *words):
        """What `run` says, which sends nothing."""
        process, _ = self.follow("run", *words)
        client = jobs.Client(process, Path("/nowhere"), None)
        code, _ = client.finish()
        assert code == jobs.WRONG, (code, client.printed())
        return client.printed()

    def failed(self, *words):
        """What `run` says of a job that was taken, and did not do what it should."""
        process, out = self.follow("run", *words)
        client = jobs.Client(process, out, None)
        code, _ = client.finish()
        assert code not in (jobs.PASS, jobs.WRONG), (code, client.printed())
        return client.printed()


class Signed(jobs.Test):
    kind = Cluster

    @classmethod
    def setUpClass(cls):
        # One cache for all: the compiler takes its time.
        cache = tempfile.mkdtemp(prefix="bellwether-cache-")
        cls.addClassCleanup(shutil.rmtree, cache)
        os.environ["XDG_CACHE_HOME"] = cache

    def test_a_signed_one_does_on_two_workers_what_it_does_on_one_machine(self):
        cluster = self.cluster(1, workers=2)
        (cluster.folder / "keys").mkdir(mode=0o755)
        for name in ("load.pub", "other.pub"):
            shutil.copy(cluster.folder / name, cluster.folder / "keys")
        cluster.settings("w1", trust_keys="load.pub")
        cluster.settings("w2", trust_keys=str(cluster.folder / "keys"))
        cluster.at_work()
        source = cluster.source()
        process, out = cluster.follow("run", source, "--sign-key", "load.key")
        client = jobs.Client(process, out, None)
        result = self.ended(client)
        self.assertEqual([one["name"] for one in result["generators"]], ["w1", "w2"])
        self.assert_whole(result, 240)
        # The same file on one machine, next to the target.
        here = cluster.folder / "here.json"
        local = cluster.client.start(cluster.binary, "run", source, "--cores", "1", "--no-store", "--out",
                                     f"json={here}", log=cluster.folder / "here.log")
        code, alone = jobs.Client(local, here, None).finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(alone, 240)

        def counts(one):
            return ({name: (step["count"], step["failed"]) for name, step in one["steps"].items()},
                    [(check["name"], check["passes"], check["fails"]) for check in one["checks"]],
                    one["run"]["scenario"])
        self.assertEqual(counts(result), counts(alone))
        self.assertEqual(counts(result)[0], {"shop.look": (120, 0), "shop.pay": (120, 0)})
        # An artifact that was signed before needs no key where it is sent from.
        job = cluster.job("submit", cluster.build("--sign-key", "load.key"), "--by", "test")
        self.assertEqual(job[0], 0, job)
        cluster.in_state(job[1]["job"], "completed")

    def test_what_nobody_vouches_for_is_refused_with_the_remedy(self):
        cluster = self.cluster(1, workers=1)
        cluster.settings("w1", trust_keys="load.pub")
        cluster.at_work()
        # Nothing of these is sent.
        self.assertIn("--sign-key", cluster.refused(cluster.source()))
        artifact = cluster.build()
        self.assertIn("without a signature", cluster.refused(artifact))
        self.assertIn("no private key",
                      cluster.refused(cluster.source(), "--sign-key", "load.pub"))
        artifact = cluster.build("--sign-key", "load.key")
        whole = artifact.read_bytes()
        middle = len(whole) // 2
        artifact.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:])
        self.assertIn("changed after it was signed", cluster.refused(artifact))
        self.assertEqual(cluster.job("list")[1], [])
        # This is, and the worker says no.
        said = cluster.failed(cluster.source(), "--sign-key", "other.key")
        self.assertRegex(said, r"'shop\.bw' is signed with key [0-9a-f]{16}, which this worker does not trust")
        self.assertEqual(cluster.children("w1"), [])
        cluster.all_free()

    def test_a_worker_without_keys_runs_none(self):
        cluster, _ = self.at_work(1, workers=1)
        said = cluster.failed(cluster.source(), "--sign-key", "load.key")
        self.assertIn("this worker trusts no keys: start it with --trust-keys", said)
        # What is wrong with a keyring is told before the worker joins.
        cluster.write("empty.pub", "nothing\n")
        place = cluster.world["w1"]
        process = place.start(cluster.binary, "worker", "--config", cluster.settings("w1"), "--trust-keys", "empty.pub",
                              "--set", "name=w9", "--set", f"listen={place.ipv4}:9100", "--set", "http=127.0.0.1:9101",
                              "--set", f"data={cluster.folder}/w9.data", log=cluster.folder / "w9.log")
        code, said = process.wait(), process.log.read_text()
        self.assertEqual(code, jobs.WRONG, said)
        self.assertIn("empty.pub' has no public key", said)

    def test_one_that_crashes_or_runs_in_circles_takes_nothing_along(self):
        cluster = self.cluster(1, workers=1)
        cluster.settings("w1", trust_keys="load.pub")
        cluster.at_work()
        worker = cluster.running["w1"].pid
        said = cluster.failed(cluster.build("--sign-key", "load.key", look=CRASH))
        self.assertIn("its process was killed by signal 11 (Segmentation fault)", said)
        cluster.all_free()
        said = cluster.failed(cluster.build("--sign-key", "load.key", look=CIRCLE, more=", timeout: 2s"))
        self.assertIn("its timeout of 2s is over", said)
        self.assertIn("did not stop within", said)
        until("the process that runs in circles is gone", lambda: not cluster.children("w1"), jobs.PATIENCE)
        cluster.all_free()
        # The worker is the same process, and good for more.
        self.assertTrue(cluster.running["w1"].alive())
        self.assertEqual(cluster.running["w1"].pid, worker)
        process, out = cluster.follow("run", cluster.build("--sign-key", "load.key"))
        result = self.ended(jobs.Client(process, out, None))
        self.assert_whole(result, 240)


if __name__ == "__main__":
    nodes.main()
