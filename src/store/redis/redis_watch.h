// Hears of changes: a second connection that listens to the channels on which the script of an act announces them. What
// foreign programs change is not announced. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/event.h"
#include "store/redis/redis_link.h"

namespace bellwether::store {

class RedisWatch {
 public:
  // One key's ear. Lives in whoever waits, and is taken off before it ends.
  struct Listener {
    std::string channel;
    std::string own_stamp;   // an announcement of our own act, which is no news
    bool may_have = false;   // something was announced, or perhaps missed, since this was cleared
    runtime::Event changed;  // set with may_have
    void announce();
  };

  RedisWatch(runtime::Runtime& runtime, RedisLogin login);
  RedisWatch(const RedisWatch&) = delete;
  RedisWatch& operator=(const RedisWatch&) = delete;

  void add(Listener& listener);
  void remove(Listener& listener);

 private:
  static runtime::task<void> keep(RedisWatch* self);
  static void pushed(void* self, const RedisReply& reply);
  void hear(const RedisReply& reply);

  runtime::Runtime& runtime_;
  RedisLink link_;
  std::map<std::string, std::vector<Listener*>> listeners_;  // by channel
  bool keeping_ = false;
  bool heard_ = false;    // since the last sign of life that was asked for
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::store
