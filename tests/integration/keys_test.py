#!/usr/bin/env python3
"""`bellwether keys`: splitting a key, its key shares, and what nodes are attested."""

import stat
import subprocess

from lib import product


class Keys(product.Test):
    def keys(self, *arguments, code=0):
        run = self.bellwether("keys", *arguments)
        self.assertEqual(run.code, code, run)
        return run

    def split(self, *arguments, names="m1,m2,m3", code=0):
        return self.keys("split", "--names", names, "--out", str(self.folder), *arguments, code=code)

    def file(self, name):
        return str(self.folder / name)

    def private(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(0o600)
        return str(path)

    def combine(self, *shares, out="again", code=0):
        return self.keys("combine", "--commitment", self.file("key.commitment"), *(self.file(one) for one in shares),
                         "--out", self.file(out), code=code)

    def test_any_majority_gives_the_key_and_fewer_do_not(self):
        key = self.private("admin.key", b"a key, of any bytes \x00\xff\n")
        self.assertIn("Any 2 of these 3 key shares give the key", self.split("--key", key).out)
        for number, pair in enumerate((("m1", "m2"), ("m3", "m1"), ("m2", "m3"))):
            self.combine(*(f"{name}.share" for name in pair), out=f"key{number}")
            self.assertEqual((self.folder / f"key{number}").read_bytes(), b"a key, of any bytes \x00\xff\n")
        self.assertIn("needs 2", self.combine("m2.share", code=1).err)
        self.assertFalse((self.folder / "again").exists())
        for name in ("m1.share", "key0"):
            self.assertEqual(stat.S_IMODE((self.folder / name).stat().st_mode), 0o600, name)

    def test_nothing_is_overwritten_and_nothing_is_half_written(self):
        (self.folder / "m3.share").write_text("mine")
        self.assertIn("m3.share' exists", self.split(code=104).err)
        self.assertFalse((self.folder / "m1.share").exists(), "what was written before is gone again")
        self.assertEqual((self.folder / "m3.share").read_text(), "mine")
        (self.folder / "m3.share").unlink()
        self.split()
        self.private("again", b"mine")
        self.assertIn("again' exists", self.combine("m1.share", "m2.share", code=104).err)
        self.assertEqual((self.folder / "again").read_bytes(), b"mine")

    def test_the_folder_is_made_for_its_owner_alone(self):
        folder = self.folder / "new"
        self.keys("split", "--names", "m1,m2,m3", "--out", str(folder))
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        missing = self.keys("split", "--names", "m1,m2,m3", "--out", str(self.folder / "a/b"), code=104)
        self.assertIn("making the folder", missing.err)

    def test_a_threshold_of_one_hides_nothing_and_must_be_meant(self):
        self.assertIn("each key share is the key, in full", self.split("--threshold", "1", code=104).err)
        self.assertIn("--hides-nothing", self.split(names="m1", code=104).err)
        self.split("--threshold", "1", "--hides-nothing")
        self.combine("m2.share")

    def test_wrong_key_shares_are_named(self):
        self.split()
        share = self.folder / "m2.share"
        good = share.read_bytes()
        share.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        verify = ("verify", "--commitment", self.file("key.commitment"), self.file("m1.share"))
        self.assertIn("key share 1 of 3, as it was split", self.keys(*verify).out)
        self.assertIn("m2.share'", self.keys(*verify, self.file("m2.share"), code=1).err)
        share.chmod(0o640)
        self.assertIn("chmod 600", self.keys(*verify, self.file("m2.share"), code=104).err)
        self.assertIn("no name of a node", self.split(names="../m1", code=104).err)
        self.assertIn("a node twice", self.split(names="m1,m1", code=104).err)

    def test_an_attestation_says_what_was_signed(self):
        key = self.private("operator.key", b"")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        self.keys("attest", "--key", key, "--cluster-name", "flock", "--node", "m1", "--capabilities",
                  "admin_election,project_manager", "--for", "1h", "--out", self.file("m1.attestation"))
        lines = (self.folder / "m1.attestation").read_text().splitlines()
        self.assertEqual(lines[:5], ["bellwether attestation 1", "cluster flock/default", "node m1",
                                     "capability admin_election", "capability project_manager"])
        for span in ("0s", "100000h"):
            run = self.keys("attest", "--key", key, "--cluster-name", "flock", "--node", "m2", "--capabilities", "a",
                            "--for", span, code=104)
            self.assertIn("10 years at most", run.err)
        (self.folder / "operator.key").chmod(0o644)
        self.assertIn("chmod 600", self.keys("attest", "--key", key, "--cluster-name", "flock", "--node", "m2",
                                             "--capabilities", "a", code=104).err)


if __name__ == "__main__":
    product.main()
