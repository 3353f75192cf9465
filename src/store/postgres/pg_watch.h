// Hears of changes: a connection that listens to the channel on which each act tells of itself, for all keys of a
// store. It is there while somebody waits. One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/event.h"
#include "store/postgres/pg_pool.h"

namespace bellwether::store {

class PgWatch final : private PgEar {
 public:
  // One key's ear. Lives in whoever waits, and is taken off before it ends.
  struct Listener {
    std::string name;        // of the key, as it is told
    std::string own_stamp;   // an announcement of our own act, which is no news
    bool may_have = false;   // something was told, or perhaps missed, since this was cleared
    runtime::Event changed;  // set with may_have
  };

  PgWatch(runtime::Runtime& runtime, PgPool& pool) : runtime_(runtime), pool_(pool) {}
  PgWatch(const PgWatch&) = delete;
  PgWatch& operator=(const PgWatch&) = delete;

  // Not from within a call of the other.
  void add(Listener& listener);
  void remove(Listener& listener);
  // As StoreKey::watch_refused().
  const std::string& refused() const { return refused_; }

 private:
  static runtime::task<void> keep(PgWatch* self);
  void hear(std::string_view told) override;
  void begin() override;

  runtime::Runtime& runtime_;
  PgPool& pool_;
  std::string refused_;
  std::map<std::string, std::vector<Listener*>, std::less<>> listeners_;  // by name
  runtime::task<void> keeping_;                                           // last: it uses everything above
};

// What an act tells: the name of its key, which needs no more than 40 characters, and its stamp.
std::string pg_name_of(std::string_view key);
std::string pg_notice(const std::string& name, const std::string& stamp);

}  // namespace bellwether::store
