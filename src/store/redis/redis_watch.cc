#include "store/redis/redis_watch.h"

#include <algorithm>
#include <utility>

#include "runtime/until.h"

namespace bellwether::store {
namespace {

constexpr Duration kTryAgainAfter = Duration::seconds(2);
constexpr Duration kSignOfLifeEvery = Duration::seconds(10);

using runtime::task;

}  // namespace

void RedisWatch::Listener::announce() {
  may_have = true;
  changed.set();
}

RedisWatch::RedisWatch(runtime::Runtime& runtime, RedisLogin login)
    : runtime_(runtime), link_(runtime, std::move(login)) {
  link_.on_push(&RedisWatch::pushed, this);
}

void RedisWatch::add(Listener& listener) {
  std::vector<Listener*>& same = listeners_[listener.channel];
  same.push_back(&listener);
  if (!std::exchange(keeping_, true)) {
    scope_.spawn(keep(this));
  } else if (link_.is_open()) {
    // A connection that is lost meanwhile is subscribed anew by keep().
    static_cast<void>(link_.tell({"SUBSCRIBE", listener.channel}));
  }
}

void RedisWatch::remove(Listener& listener) {
  const auto found = listeners_.find(listener.channel);
  if (found == listeners_.end()) return;
  std::erase(found->second, &listener);
  if (!found->second.empty()) return;
  listeners_.erase(found);
  if (link_.is_open()) static_cast<void>(link_.tell({"UNSUBSCRIBE", listener.channel}));
}

// Keeps a connection that is subscribed to all channels, and notices when it has died without a word.
task<void> RedisWatch::keep(RedisWatch* self) {
  while (true) {
    const Instant deadline = self->runtime_.read_clock() + kSignOfLifeEvery;
    const Status ready = co_await self->link_.ready(deadline, nullptr);
    if (!ready) {
      co_await self->runtime_.sleep(kTryAgainAfter);
      continue;
    }
    std::vector<std::string> command{"SUBSCRIBE"};
    for (const auto& [channel, listeners] : self->listeners_) command.push_back(channel);
    if (command.size() > 1) static_cast<void>(self->link_.tell(command));
    while (self->link_.is_open()) {
      self->heard_ = false;
      static_cast<void>(self->link_.tell({"PING"}));
      co_await self->runtime_.sleep(kSignOfLifeEvery);
      if (self->heard_ || !self->link_.is_open()) continue;
      self->link_.close({Errc::kTimeout, self->link_.where() + ": nothing was heard for too long"});
    }
  }
}

void RedisWatch::pushed(void* self, const RedisReply& reply) { static_cast<RedisWatch*>(self)->hear(reply); }

// ["subscribe", channel, count], ["message", channel, stamp], ["pong", ""], or nil when the connection was lost.
void RedisWatch::hear(const RedisReply& reply) {
  heard_ = true;
  if (reply.type != RedisReply::Type::kArray || reply.items.size() != 3) return;
  const std::string& what = reply.items[0].text;
  if (what != "subscribe" && what != "message") return;
  const auto found = listeners_.find(reply.items[1].text);
  if (found == listeners_.end()) return;
  for (Listener* listener : found->second) {
    // What happened before the subscription stood was not announced to us.
    if (what == "subscribe" || reply.items[2].text != listener->own_stamp) listener->announce();
  }
}

}  // namespace bellwether::store
