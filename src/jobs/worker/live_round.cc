#include "jobs/worker/live_round.h"

#include <algorithm>
#include <utility>

#include "cluster/net/message_types.h"
#include "jobs/dispatch/codec/letters_codec.h"

namespace bellwether::node {

void LiveRound::changed() {
  changed_ = true;
  if (nap_ != nullptr) nap_->cancel();
}

void LiveRound::at_once() {
  at_once_ = true;
  changed();
  if (pause_ != nullptr) pause_->cancel();
}

runtime::task<void> LiveRound::run(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    if (!changed_) {
      runtime::Cancellation nap(cancel);
      nap_ = &nap;
      co_await runtime_.sleep_until(Instant::never(), &nap);
      nap_ = nullptr;
      continue;
    }
    changed_ = false;
    say(std::exchange(at_once_, false));
    runtime::Cancellation pause(cancel);
    pause_ = &pause;
    co_await runtime_.sleep(kApart, &pause);
    pause_ = nullptr;
  }
}

void LiveRound::say(bool at_once) {
  const Instant now = runtime_.now();
  std::map<std::string, Instant> before = std::exchange(said_, {});
  for (Host::Letter& one : host_.live()) {
    const auto last = before.find(one.to.name);
    if (last != before.end()) said_.insert(*last);
    if (one.letter.shares.empty()) continue;
    if (!is_clear(one.to.name)) {
      changed_ = true;  // at an end nothing newer follows
      continue;
    }
    const bool is_urgent = at_once && one.apart <= kApart;
    if (!is_urgent && last != before.end() && now < last->second + one.apart) {
      changed_ = true;  // what is newest then is said when it is time
      continue;
    }
    said_[one.to.name] = now;
    one.letter.number = ++number_;
    one.letter.collected = now;
    links_.send(one.to, cluster::message_type::kDispatch, wire::Priority::kBulk, dispatch::encode(one.letter),
                Duration::zero());
  }
}

// There is a connection, and nothing waits on it.
bool LiveRound::is_clear(const std::string& manager) const {
  const std::vector<const link::Connection*> all = links_.connections();
  return std::any_of(all.begin(), all.end(), [&](const link::Connection* one) {
    return one->open() && one->peer().identity.node == manager && !one->session().closing() &&
           one->session().queued_bytes() == 0;
  });
}

}  // namespace bellwether::node
