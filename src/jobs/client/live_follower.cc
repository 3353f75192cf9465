#include "jobs/client/live_follower.h"

#include <algorithm>

#include "jobs/client/client_words.h"
#include "load/metrics/live_windows.h"

namespace bellwether::client::detail {
namespace {

constexpr Duration kLength = metrics::LiveWindows::kLength;
constexpr uint64_t kMostNumber = static_cast<uint64_t>(Duration::max().ns() / kLength.ns());

}  // namespace

std::optional<LiveNews> LiveFollower::take(Instant now, const dispatch::LiveNews& news) {
  over_ = news.final;
  LiveNews out;
  out.anew = life_ != 0 && news.life != life_ && news.life != 0;
  const bool is_first = life_ != news.life;
  if (news.windows.empty()) return std::nullopt;
  life_ = news.life;
  change_ = news.change;
  if (!is_first && news.windows.back().number >= next_) {
    // In order and contiguous, but for what was forgotten before it was asked for.
    const auto fresh = std::find_if(news.windows.begin(), news.windows.end(),
                                    [this](const dispatch::LiveWindow& one) { return one.number >= next_; });
    out.skipped = fresh->number - next_;
  }
  next_ = is_first ? news.windows.back().number + 1 : std::max(next_, news.windows.back().number + 1);
  for (const dispatch::LiveWindow& one : news.windows) {
    const auto number = static_cast<int64_t>(std::min(one.number, kMostNumber));
    out.windows.push_back({span_of(kLength * number), one.revision, one.told, one.done});
  }
  out.total = news.total;
  calls_.take(now);
  return out;
}

}  // namespace bellwether::client::detail
