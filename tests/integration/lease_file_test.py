#!/usr/bin/env python3
"""Lease files beside programs that write them in the plain way: no lock, no atomic write, any clock believed."""

import json
import signal

from lib import leading, product
from lib.daemon import until
from lib.foreign import Foreign


class BesideOthers(leading.Test):
    default_ttl = "9s"

    def setUp(self):
        super().setUp()
        (self.folder / "memory").mkdir()
        self.file = self.folder / "memory" / "orchestrator-state.json"
        self.via = f"file:{self.file}"

    def join(self, id, *more):
        program = Foreign("opencode", "--file", self.file, "--id", id, "--ttl-ms", "9000", "--heartbeat-ms", "200",
                          *more)
        self.addCleanup(program.__exit__)
        return program

    def lease(self):
        def read():
            try:
                return json.loads(self.file.read_text())
            except ValueError:
                return None
        return until("a whole lease", read)

    def put_aside(self):
        return list(self.file.parent.glob("*.quarantine-*"))

    def test_a_lease_goes_from_a_foreign_program_to_ours_and_back_with_growing_epochs(self):
        foreign = self.join("foreign")
        self.assertEqual(foreign.wait_for("leader")[1], ["1"])
        ours = self.lead("--id", "ours", via=self.via, key="default")
        ours.wait_for("note", text="foreign, epoch")
        self.assertEqual(ours.all("elected"), [])
        foreign.crash()
        self.assertEqual(int(ours.elected()["epoch"]), 2)
        lease = self.lease()
        self.assertEqual((lease["leader_id"], lease["leader_epoch"], lease["ttl_ms"]), ("ours", 2, 9000))
        second = self.join("second")
        self.assertEqual(second.wait_for("follower")[1], ["2"])
        ours.signal(signal.SIGTERM)
        ours.wait()
        self.assertEqual(second.wait_for("leader")[1], ["3"])
        second.crash()
        again = self.lead("--id", "again", via=self.via, key="default")
        self.assertEqual(int(again.elected()["epoch"]), 4)

    def test_a_program_that_tears_its_writes_is_still_seen_and_nothing_is_put_aside(self):
        foreign = self.join("foreign", "--torn-ms", "60")
        foreign.wait_for("leader")
        ours = self.lead("--id", "ours", via=self.via, key="default")
        ours.wait_for("note", text="foreign, epoch")
        until("some heartbeats", lambda: len(foreign.said("leader")) == 1 and ours.runs() and self.lease())
        self.assertEqual(ours.all("elected"), [])
        self.assertEqual(self.put_aside(), [])

    def test_a_file_that_is_damaged_for_good_is_put_aside_and_the_epoch_goes_on(self):
        self.assertEqual(self.run_lead(via=self.via, key="default").code, 0)
        self.file.write_text('{"leader_id": "x", "leader_ep')
        run = self.run_lead("-w", "100s", via=self.via, key="default",
                            command=["sh", "-c", "echo $BELLWETHER_EPOCH"])
        self.assertEqual(run.out, "2\n", run)
        self.assertEqual([one.read_text() for one in self.put_aside()], ['{"leader_id": "x", "leader_ep'])

    def test_a_lease_from_the_future_is_an_error_that_speaks_of_clocks(self):
        self.file.write_text(json.dumps({"leader_id": "x", "leader_epoch": 7, "ttl_ms": 1000,
                                         "last_heartbeat": "2199-01-01T00:00:00.000Z"}))
        run = self.run_lead("-w", "1s", via=self.via, key="default")
        self.assertNotEqual(run.code, 0)
        self.assertIn("clocks", run.err)


if __name__ == "__main__":
    product.main()
