// The live channel: counters that workers tell for screens, and the windows of them for those who watch.

#include <algorithm>
#include <utility>

#include "node/manager/ask.h"
#include "node/manager/steward.h"

namespace bellwether::node {

using dispatch::Refusal;
using dispatch::refusal;

void Steward::live(const std::string& worker, Instant collected, uint64_t number,
                   const dispatch::LiveLetter::Share& told) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  const dispatch::ShareSheet* share = job_->find(told.share);
  if (share == nullptr || share->worker != worker || !share->streams || !dispatch::is_live(*share) || share->end)
    return;
  if (!live_.heard(parts_.runtime.now(), collected, number, told) || live_told_) return;
  live_told_ = std::any_of(watchers_.begin(), watchers_.end(),
                           [](const Watcher& one) { return one.live_at != Instant::never(); });
  if (live_told_) poke();
}

dispatch::LiveNews Steward::live_view(Instant now, const dispatch::WatchLive& letter) const {
  dispatch::LiveNews out = live_.news(now, letter.life == account_life_ ? letter.change : 0);
  out.life = account_life_;
  out.final = job_->over();
  return out;
}

bool Steward::has_live_news(const dispatch::WatchLive& letter) const {
  return job_->over() || live_.change() > (letter.life == account_life_ ? letter.change : 0);
}

void Steward::watch_live(link::Connection& connection, wire::RequestId id, const dispatch::WatchLive& letter) {
  const Instant at = now();
  live_.advance(at);
  if (has_live_news(letter) || letter.wait <= Duration::zero()) {
    return respond(parts_.switchboard, connection, id, live_view(at, letter));
  }
  if (watchers_.size() + live_watchers_.size() >= settings_.watchers_most) {
    return respond(parts_.switchboard, connection, id, too_many_watch());
  }
  live_watchers_.push_back({&connection, id, letter, at + std::min(letter.wait, kWatchMost)});
  poke();
}

Instant Steward::next_live_deadline() const {
  Instant next = live_watchers_.empty() ? Instant::never() : live_.next_close();
  for (const LiveWatcher& one : live_watchers_) next = std::min(next, one.until);
  return next;
}

void Steward::answer_live_watchers(Instant now, bool all) {
  if (live_watchers_.empty()) return;
  live_.advance(now);
  for (auto at = live_watchers_.begin(); at != live_watchers_.end();) {
    if (all) {
      respond(parts_.switchboard, *at->connection, at->id, moved());
    } else if (has_live_news(at->letter) || at->until <= now) {
      respond(parts_.switchboard, *at->connection, at->id, live_view(now, at->letter));
    } else {
      ++at;
      continue;
    }
    at = live_watchers_.erase(at);
  }
}

}  // namespace bellwether::node
