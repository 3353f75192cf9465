#include "core/secret/collector.h"

#include <algorithm>

namespace bellwether::secret {

bool Collector::holds(uint8_t index) const {
  return std::any_of(shares_.begin(), shares_.end(), [&](const KeyShare& share) { return share.index == index; });
}

Result<Collector::Taken> Collector::take(uint64_t from, KeyShare share) {
  if (const Status good = commitment_.check(share); !good) {
    if (refused_.size() < kMaxRefused || refused_.contains(from)) {
      refused_[from] = good.error().message;
    } else {
      ++refused_more_;
    }
    return fail(good.error().code, "of node {}: {}", from, good.error().message);
  }
  if (holds(share.index)) return Taken::kDouble;
  if (state_ != State::kCollecting) return Taken::kNotNeeded;
  shares_.push_back(std::move(share));
  if (needed() == 0) state_ = State::kReady;
  return Taken::kNew;
}

Result<SecretBytes> Collector::give() {
  if (state_ == State::kCollecting) return fail(Errc::kInvalid, "the secret is not complete yet: " + text());
  if (state_ != State::kReady) return fail(Errc::kClosed, text());
  auto secret = combine(commitment_, shares_);
  state_ = secret ? State::kGiven : State::kSpoiled;
  shares_.clear();
  return secret;
}

std::size_t Collector::needed() const {
  return state_ == State::kCollecting ? commitment_.head().rule.threshold - shares_.size() : 0;
}

std::vector<uint8_t> Collector::missing() const {
  std::vector<uint8_t> out;
  if (needed() == 0) return out;
  for (std::size_t index = 1; index <= commitment_.head().rule.shares; ++index) {
    if (!holds(static_cast<uint8_t>(index))) out.push_back(static_cast<uint8_t>(index));
  }
  return out;
}

std::string Collector::text() const {
  const std::string secret = fmt::format("secret {}", commitment_.head().secret.value());
  const std::string threshold = std::to_string(commitment_.head().rule.threshold);
  std::string out;
  switch (state_) {
    case State::kCollecting:
    case State::kReady: out = fmt::format("{} of {} key shares of {}", shares_.size(), threshold, secret); break;
    case State::kGiven:
      out = fmt::format("{} was restored from {} key shares, which are wiped", secret, threshold);
      break;
    case State::kSpoiled: out = secret + " cannot be restored: its commitment contradicts itself"; break;
  }
  std::string_view between = "; refused: ";
  for (const auto& [from, why] : refused_) {
    ((out += between) += fmt::format("of node {}: ", from)) += why;
    between = "; ";
  }
  if (refused_more_ > 0) out += fmt::format("; and {} more", refused_more_);
  return out;
}

}  // namespace bellwether::secret
