// Leases in PostgreSQL (12 or newer), as rows of the table bellwether_leases, which is made at first use unless an
// operator has made it. Rows are never deleted, so that epochs stay. A commit is answered when it is on the server's
// disk, so that a crash loses nothing.
//
// What can be lost, and who notices: a standby that is promoted without the last commits, or a state restored from a
// copy, begins another timeline, which each row names; so what was written before is in doubt until its holder has
// renewed it. The table is dropped or the database made anew: the marker row is gone (doubt.h). With several hosts in
// the URL, the first that is no standby is used; while two servers take themselves for the primary there may be two
// holders, as with Redis: use synchronous replication and a fence, or etcd.
#pragma once

#include <memory>
#include <string>

#include "store/lease_store.h"
#include "store/postgres/pg_watch.h"

namespace bellwether::store {

class PostgresStore final : public LeaseStore {
 public:
  PostgresStore(runtime::Runtime& runtime, PgLogin login, std::string description)
      : runtime_(runtime), description_(std::move(description)), pool_(runtime, std::move(login)) {}
  const election::StoreTraits& traits() const override { return traits_; }
  std::string describe() const override { return description_; }
  Result<std::unique_ptr<StoreKey>> open(std::string key) override;
  runtime::task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                                     runtime::Cancellation* cancel) override;

 private:
  friend class PostgresKey;
  // As PgPool::run(); makes the table when there is none.
  runtime::task<Result<std::vector<PgRow>>> run(std::string_view statement, std::vector<std::string> parameters,
                                                Instant deadline, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  std::string description_;
  election::StoreTraits traits_;
  PgPool pool_;
  PgWatch watch_{runtime_, pool_};
};

// postgres://USER@HOST:PORT,HOST:PORT/DATABASE. Options: password_file, and libpq's sslmode, sslrootcert, sslcert,
// sslkey. Where no password is given, libpq looks at PGPASSWORD, PGPASSFILE and ~/.pgpass.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_postgres_store(runtime::Runtime& runtime, StoreUrl url);

}  // namespace bellwether::store
