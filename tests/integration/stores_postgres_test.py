#!/usr/bin/env python3
"""The store of leases on PostgreSQL against its real server: the behaviours that all share, and its own troubles."""

import os

from lib import product
from lib.conformance import Served, probe
from lib.postgres import Postgres
from lib.stores import BLOBS, Test


class PostgresStore(Test):
    FOREIGN = ["ServerTrouble.a_foreign_program_cannot_take_what_we_hold",
               "ServerTrouble.what_a_foreign_program_holds_is_shown_and_cannot_be_taken_until_it_is_given_back"]

    def test_it_behaves_as_every_store(self):
        self.conforms(Served(self.up(Postgres(self.folder / "a"))), BLOBS + self.FOREIGN)

    def test_what_it_holds_is_a_row_for_people_to_see(self):
        postgres = self.up(Postgres(self.folder / "a"))
        self.says(postgres.url, "doubt=1", "never stored leases", "take: ok holder=prober")
        self.assertEqual(postgres.psql("select holder, lease_ms from bellwether_leases where key = 'probe'"),
                         "prober|15000")
        self.says(postgres.url, "look: ok holder=prober", "doubt=0")
        self.says(postgres.url, "doubt=1", "this PostgreSQL is new", key="another")
        postgres.psql("drop table bellwether_leases")
        self.says(postgres.url, "doubt=1", "has lost all its data")

    def test_a_failover_leaves_everything_in_doubt(self):
        primary = self.up(Postgres(self.folder / "a"))
        self.says(primary.url, "take: ok holder=prober")
        standby = self.up(Postgres(self.folder / "b", replica_of=primary))
        standby.wait_for_replica(primary)
        self.says(standby.url, "look: refused:", "standby", "name its primary")
        both = f"postgres://tester@127.0.0.1:{standby.port},127.0.0.1:{primary.port}/postgres"
        self.assertNotIn("doubt=1", probe(both))
        primary.stop()
        standby.promote()
        self.says(standby.url, "look: ok holder=prober", "doubt=1", "its last writes may be lost")

    def test_rights(self):
        postgres = self.up(Postgres(self.folder / "a"))
        postgres.psql("create role eve login")
        eve = f"postgres://eve@127.0.0.1:{postgres.port}/postgres"
        self.says(eve, "look: refused:", "let an administrator run: create table")
        self.says(postgres.url, "take: ok")
        self.says(eve, "look: refused:", "no right")
        postgres.psql("grant select, insert, update on bellwether_leases to eve")
        self.says(eve, "look: ok", "take: ok")

    def test_a_read_only_server_refuses_in_words(self):
        postgres = self.up(Postgres(self.folder / "a"))
        self.says(postgres.url, "take: ok")
        postgres.read_only()
        self.says(postgres.url, "look: ok holder=prober", "take: refused:", "read-only")

    def test_passwords(self):
        postgres = self.up(Postgres(self.folder / "a", password="first"))
        bare = f"postgres://tester@127.0.0.1:{postgres.port}/postgres"
        self.says(f"{bare}?password_file={self.write('wrong', 'third')}", "look: refused:", "password")
        self.says(bare, "look: refused:", "password_file")
        self.says(postgres.url, "take: ok")
        self.says(bare, "look: ok", environment={**os.environ, "PGPASSWORD": "first"})
        self.says(bare.replace("/postgres", "/nowhere") + f"?password_file={self.write('good', 'first')}",
                  "look: not_found:", "nowhere")

    def test_tls(self):
        certificate, key, authority = self.certificates()
        postgres = self.up(Postgres(self.folder / "a", certificate=[certificate, key, authority]))
        bare = f"postgres://tester@127.0.0.1:{postgres.port}/postgres"
        self.says(f"{bare}?sslmode=verify-full&sslrootcert={authority}", "take: ok")
        self.says(f"{bare}?sslmode=disable", "look: refused:", "pg_hba.conf")
        self.says(f"{bare}?sslmode=verify-full&sslrootcert={key}", "look: tls:")

    def test_wrong_urls(self):
        self.says("postgres:", "open: invalid:", "host")
        self.says("postgres://h/d?colour=red", "open: invalid:", "colour", "sslmode")


if __name__ == "__main__":
    product.main()
