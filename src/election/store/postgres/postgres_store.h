// Leases in PostgreSQL (12 or newer), as rows of the table bellwether_leases. The first use creates the table unless an
// operator has. Rows are never deleted, so that epochs stay. The server confirms a commit when it is on disk, so a
// crash loses nothing.
//
// Possible losses, and their detection:
// - A standby is promoted without the last commits, or a state is restored from a copy: this begins another timeline,
//   which each row names. Earlier records are in doubt until their holders have renewed them.
// - The table is dropped or the database recreated: the marker row is gone (lease_store.h).
// With several hosts in the URL, we use the first that is no standby. While two servers act as the primary, two holders
// are possible, as with Redis: use synchronous replication and a fence, or etcd.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/event.h"
#include "election/store/lease_store.h"
#include "election/store/postgres/pg_pool.h"

namespace bellwether::store {

// To and from PostgreSQL's text form of arbitrary bytes.
std::string pg_bytes(std::string_view bytes);
std::string bytes_of_pg(std::string_view text);

// Listens for changes: one connection on the channel to which each act sends a notification, for all keys of a store.
// It exists while a caller waits. One thread.
class PgWatch final {
 public:
  // The listener of one key. Its waiting caller owns it and removes it before it ends.
  struct Listener {
    std::string name;        // of the key, as in notifications
    std::string own_stamp;   // an announcement of our own act, which is no news
    bool may_have = false;   // a notification came, or was perhaps missed, since this was cleared
    runtime::Event changed;  // set with may_have
  };

  PgWatch(runtime::Runtime& runtime, PgPool& pool) : runtime_(runtime), pool_(pool) {}
  PgWatch(const PgWatch&) = delete;
  PgWatch& operator=(const PgWatch&) = delete;

  // Not from within a call of the other.
  void add(Listener& listener);
  void remove(Listener& listener);
  // Calls of the connection: begin() first, then hear() for each notification.
  void begin();
  void hear(std::string_view told);
  // As StoreKey::watch_refused().
  const std::string& refused() const { return refused_; }

 private:
  runtime::Runtime& runtime_;
  PgPool& pool_;
  std::string refused_;
  std::map<std::string, std::vector<Listener*>, std::less<>> listeners_;  // by name
  runtime::task<void> keeping_;                                           // last: it uses everything above
};

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
  // As PgPool::run(); creates the table if it does not exist.
  runtime::task<Result<std::vector<PgRow>>> run(std::string_view statement, std::vector<std::string> parameters,
                                                Instant deadline, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  std::string description_;
  election::StoreTraits traits_;
  PgPool pool_;
  PgWatch watch_{runtime_, pool_};
};

// postgres://USER@HOST:PORT,HOST:PORT/DATABASE. Options: password_file, and libpq's sslmode, sslrootcert, sslcert,
// sslkey. Without a password, libpq reads PGPASSWORD, PGPASSFILE and ~/.pgpass.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_postgres_store(runtime::Runtime& runtime, StoreUrl url);

}  // namespace bellwether::store
