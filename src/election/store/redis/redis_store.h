// Leases in Redis (6.2 or newer; one primary, no Redis Cluster).
//
// A key K is two keys there. K itself holds the holder's token and expires with the lease, so that `GET K` shows it and
// programs that do `SET K x NX PX …` contend with ours as with each other. A hash beside it never expires and holds the
// record: holder, epoch, lease. The hash decides; the expiry of K ends nothing for our candidates, who wait on their
// own clocks. So a step of the server's clock hurts foreign programs only. A key K with any value other than the token
// of the hash is a foreign lock, and we never take it.
//
// Possible losses, and their detection:
//   - The server restarts, or another one takes its place. The server names itself in each hash and in the marker of
//     the store, so a record of an earlier life is in doubt until its holder has renewed it (`may_have_lost_data`, and
//     another version, so that candidates begin to wait anew). A free key may be taken one lease later, with an epoch
//     from the clock, above all earlier ones.
//   - Everything is lost (restart without data, FLUSHALL): the marker is gone. Absent keys are in doubt then, and for
//     kDoubtFor (lease_store.h) after, which is longer than any lease; epochs begin at the marker's time in
//     milliseconds.
//   - A hash is deleted by hand: only processes that saw a greater epoch notice (the floor of the Elector).
//   - A replica is promoted while the old primary still serves: clients of the old one continue there. Two servers, two
//     holders: only a resource that checks epochs is safe. Use one Redis that writes its disk before it answers
//     (appendfsync always), or etcd.
// Redis must not evict keys: we refuse a server with maxmemory-policy allkeys-….
#pragma once

#include <memory>
#include <string>

#include "election/store/lease_store.h"
#include "election/store/redis/redis_link.h"
#include "election/store/store_url.h"

namespace bellwether::store {

class RedisWatch;

class RedisStore final : public LeaseStore {
 public:
  RedisStore(runtime::Runtime& runtime, RedisLogin login, std::string description);
  ~RedisStore() override;
  const election::StoreTraits& traits() const override { return traits_; }
  std::string describe() const override { return description_; }
  Result<std::unique_ptr<StoreKey>> open(std::string key) override;
  runtime::task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                                     runtime::Cancellation* cancel) override;
  runtime::task<Result<Duration>> idle_time(std::string data, Instant deadline, runtime::Cancellation* cancel) override;

 private:
  friend class RedisKey;
  Status examine(const Result<RedisReply>& reply);

  runtime::Runtime& runtime_;
  std::string description_;
  uint64_t database_;
  election::StoreTraits traits_;
  RedisLink link_;
  std::unique_ptr<RedisWatch> watch_;
};

// redis://USER@HOST:PORT,HOST:PORT/DB, rediss: with TLS. Options: password_file, ca, cert, key, verify.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_redis_store(runtime::Runtime& runtime, StoreUrl url);

// The name of the hash that belongs to a key, in the same slot of a cluster where the name permits it.
std::string redis_record_name(const std::string& key);
// The other way; empty when it is no such name.
std::string redis_key_of_record(std::string_view name);

}  // namespace bellwether::store
