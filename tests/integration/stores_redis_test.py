#!/usr/bin/env python3
"""The store of leases on Redis against its real server: the behaviours that all share, and its own troubles."""

import os

from lib import product
from lib.conformance import Served, conformance, probe
from lib.cut import Cut
from lib.daemon import until
from lib.redis import Redis
from lib.stores import BLOBS, Test


class ServedRedis(Served):
    def foreign_take(self, key):
        return self.server.cli("SET", key, "somebody", "NX", "PX", "60000") == "OK"

    def foreign_refused(self, key):
        return not self.foreign_take(key) and self.server.cli("GET", key) != ""

    def foreign_release(self, key):
        return self.server.cli("DEL", key) == "1"


class RedisStore(Test):
    def test_it_behaves_as_every_store(self):
        self.conforms(ServedRedis(self.up(Redis(self.folder / "a"))), BLOBS)

    def test_what_it_holds_is_there_for_people_to_see(self):
        redis = self.up(Redis(self.folder / "a"))
        self.says(redis.url, "take: ok holder=prober")
        token = redis.cli("GET", "probe")
        self.assertRegex(token, "^[0-9a-f]{32}$")
        self.assertEqual(redis.cli("HGET", "{probe}:bellwether", "token"), token)
        self.assertEqual(redis.cli("HGET", "{probe}:bellwether", "holder"), "prober")
        self.assertGreater(int(redis.cli("PTTL", "probe")), 5000)
        self.assertEqual(redis.cli("TTL", "{probe}:bellwether"), "-1")

    def test_a_key_that_expired_is_still_held_until_its_candidates_have_waited(self):
        redis = self.up(Redis(self.folder / "a"))
        self.says(redis.url, "take: ok")
        redis.cli("DEL", "probe")
        self.says(redis.url, "look: ok holder=prober", "foreign=0")

    def test_a_lock_without_end_of_another_program_is_explained(self):
        redis = self.up(Redis(self.folder / "a"))
        redis.cli("SET", "probe", "somebody")
        self.says(redis.url, "look: ok holder=somebody", "foreign=1", "never expires", "refused: ok holder=somebody")
        redis.cli("DEL", "probe")
        redis.cli("LPUSH", "probe", "x")
        self.says(redis.url, "look: invalid:", "a value that is not a lock")

    def test_an_emptied_server_is_not_believed(self):
        redis = self.up(Redis(self.folder / "a"))
        self.assertIn("doubt=1", self.says(redis.url, "never stored leases").splitlines()[0])
        self.says(redis.url, "look: ok holder=prober", "doubt=0")
        redis.cli("FLUSHALL")
        self.says(redis.url, "doubt=1", "never stored leases, or has lost all its data")
        self.says(redis.url, "doubt=1", "this Redis is new", key="another")

    def test_a_failover_leaves_everything_in_doubt(self):
        primary = self.up(Redis(self.folder / "a"))
        replica = self.up(Redis(self.folder / "b", replica_of=primary))
        replica.wait_for_replica()
        self.says(primary.url, "take: ok holder=prober")
        until("the copy", lambda: replica.cli("GET", "probe") != "")
        self.says(replica.url, "look: refused:", "a replica of 127.0.0.1:%d" % primary.port, "name its primary")
        primary.stop()
        replica.promote()
        self.says(replica.url, "look: ok holder=prober", "doubt=1", "its last writes may be lost")
        both = f"redis://127.0.0.1:{primary.port},127.0.0.1:{replica.port}/0"
        self.says(both, "look: ok holder=prober")

    def test_a_failover_under_an_open_connection(self):
        primary, other = self.up(Redis(self.folder / "a"), Redis(self.folder / "b"))
        served = ServedRedis(primary)
        served.restart = lambda: (other.cli("REPLICAOF", "127.0.0.1", primary.port), other.wait_for_replica(),
                                  served.cut.redirect(other), primary.stop(), other.promote(), served.cut.reset())
        self.addCleanup(served.close)
        self.assertEqual(conformance(self, served, "*restart_with_its_data*"), (1, []))

    def test_passwords(self):
        redis = self.up(Redis(self.folder / "a", password="first", users={"bob": "second"}))
        bare = f"127.0.0.1:{redis.port}/0"
        good, wrong = self.write("good", "first\n"), self.write("wrong", "third\n")
        self.write("bob", "second\n")
        self.says(f"redis://{bare}", "look: refused:", "NOAUTH", "password_file")
        self.says(f"redis://{bare}?password_file={wrong}", "look: refused:", "WRONGPASS", "password is wrong")
        self.says(f"redis://{bare}?password_file={good}", "take: ok")
        self.says(f"redis://bob@{bare}?password_file={self.folder / 'bob'}", "look: ok")
        self.says(f"redis://{bare}", "look: ok", environment={**os.environ, "REDISCLI_AUTH": "first"})
        self.says(f"redis://{bare}?password_file={self.folder / 'none'}", "open: not_found:", "none")
        redis.cli("ACL", "SETUSER", "eve", "on", ">second", "~*", "+@read")
        self.says(f"redis://eve@{bare}?password_file={self.folder / 'bob'}", "look: refused:", "NOPERM")

    def test_tls(self):
        certificate, key, authority = self.certificates()
        redis = self.up(Redis(self.folder / "a", certificate=[certificate, key, authority], client_certificates=True))
        where = f"127.0.0.1:{redis.port}"
        self.says(f"rediss://{where}?ca={authority}&cert={certificate}&key={key}", "take: ok")
        self.says(f"rediss://{where}?cert={certificate}&key={key}", "look: tls:", where, "certificate")
        self.assertNotIn("look: ok", probe(f"rediss://{where}?ca={authority}"))
        self.assertNotIn("look: ok", probe(f"redis://{where}"))
        self.says(f"rediss://{where}?ca={self.folder / 'none'}", "open: tls:", "none")

    def test_a_full_server_refuses_in_words(self):
        redis = self.up(Redis(self.folder / "a"))
        self.says(redis.url, "take: ok")
        redis.fill()
        self.says(redis.url, "look: ok holder=prober", "take: exhausted:", "maxmemory")
        redis.fill(False)
        redis.cli("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
        self.says(redis.url, "look: refused:", "allkeys-lru", "noeviction")

    def test_what_is_no_redis(self):
        redis = self.up(Redis(self.folder / "a"))
        redis.stop()
        self.says(redis.url, "look: refused:", str(redis.port))
        with Cut(1) as nowhere:
            self.assertNotIn("look: ok", probe(redis.url_at(nowhere.port)))

    def test_wrong_urls(self):
        self.says("redis:", "open: invalid:", "host")
        self.says("redis://h/x", "open: invalid:", "number of a database")
        self.says("redis://h/0?colour=red", "open: invalid:", "colour", "password_file")
        self.says("redis://127.0.0.1:1/0", "open: invalid:", ":bellwether", key="a:bellwether")


if __name__ == "__main__":
    product.main()
