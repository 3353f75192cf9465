#include "core/secret/sharing.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::secret {
namespace {

constexpr std::size_t kSaltBytes = std::tuple_size_v<Salt>;

// Does not stop at the first byte that is not zero: the time would reveal its place.
bool all_zero(Bytes bytes) {
  std::byte any{0};
  for (const std::byte byte : bytes) any |= byte;
  return any == std::byte{0};
}

std::byte times(std::byte a, uint8_t b) { return std::byte{multiply(std::to_integer<uint8_t>(a), b)}; }

}  // namespace

// The salt, and rows of coefficients, of which the first one begins with the secret.
Result<std::size_t> random_bytes_for(std::size_t secret_bytes, SplitRule rule) {
  BW_RETURN_IF_ERROR(check_split(secret_bytes, rule));
  return kSaltBytes + rule.threshold * (secret_bytes + kBlindBytes);
}

Result<Splitting> split(SecretId id, const SecretBytes& secret, SplitRule rule, SecretBytes random) {
  BW_TRY(const std::size_t size, random_bytes_for(secret.size(), rule));
  check(random.size() == size, "as much randomness as was asked for");
  // A source that gives nothing, or stops early, would make key shares that are the secret.
  if (all_zero(random.bytes().first(kSaltBytes)) || all_zero(random.bytes().last(kSaltBytes))) {
    return fail(Errc::kIo, "the source of randomness returned only zeros: nothing was split");
  }
  SplitHead head{id, {}, rule, secret.size()};
  std::copy_n(random.bytes().begin(), kSaltBytes, head.salt.begin());
  const MutableBytes rows = random.bytes().subspan(kSaltBytes);
  std::copy_n(secret.bytes().begin(), secret.size(), rows.begin());

  const std::size_t width = secret.size() + kBlindBytes;
  std::vector<KeyShare> shares;
  std::vector<Digest> digests;
  shares.reserve(rule.shares);
  for (std::size_t index = 1; index <= rule.shares; ++index) {
    KeyShare share{id, head.salt, static_cast<uint8_t>(index), SecretBytes(width)};
    evaluate(rows, share.index, share.value.bytes());
    digests.push_back(digest_of_share(head, share.index, share.value.bytes()));
    shares.push_back(std::move(share));
  }
  auto commitment = Commitment::make(head, digest_of_secret(head, rows.first(width)), std::move(digests));
  check(commitment.has_value(), "what was split can be committed to");
  return Splitting{std::move(*commitment), std::move(shares)};
}

Result<SecretBytes> combine(const Commitment& commitment, std::span<const KeyShare> shares) {
  const SplitHead& head = commitment.head();
  if (shares.size() < head.rule.threshold) {
    return fail(Errc::kInvalid, "{} key shares; restoring the secret needs {}", shares.size(), head.rule.threshold);
  }
  std::vector<Point> points;
  for (const KeyShare& share : shares.first(head.rule.threshold)) {
    BW_RETURN_IF_ERROR(commitment.check(share));
    if (std::ranges::any_of(points, [&](const Point& point) { return point.x == share.index; })) {
      return fail(Errc::kInvalid, "key share {} was given twice", share.index);
    }
    points.push_back({share.index, share.value.bytes()});
  }
  SecretBytes whole(head.secret_bytes + kBlindBytes);
  interpolate_at_zero(points, whole.bytes());
  if (!commitment.is_secret(whole.bytes())) {
    return fail(Errc::kInvalid,
                "all key shares match the commitment, but the restored secret does not: the commitment is wrong; split "
                "the secret again");
  }
  return SecretBytes::copy_of(whole.bytes().first(head.secret_bytes));
}

void evaluate(Bytes coefficients, uint8_t x, MutableBytes out) {
  const std::size_t width = out.size();
  check(width > 0 && !coefficients.empty() && coefficients.size() % width == 0, "coefficients are whole rows");
  std::size_t row = coefficients.size() - width;
  std::copy_n(coefficients.begin() + static_cast<std::ptrdiff_t>(row), width, out.begin());
  while (row > 0) {
    row -= width;
    for (std::size_t i = 0; i < width; ++i) out[i] = times(out[i], x) ^ coefficients[row + i];
  }
}

void interpolate_at_zero(std::span<const Point> points, MutableBytes out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  for (const Point& point : points) {
    check(point.x != 0 && point.y.size() == out.size(), "points are of these polynomials, and not at 0");
    uint8_t weight = 1;
    for (const Point& other : points) {
      if (&other == &point) continue;
      check(other.x != point.x, "points differ in x");
      weight = multiply(weight, multiply(other.x, inverse(other.x ^ point.x)));
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i] ^= times(point.y[i], weight);
  }
}

bool Collector::holds(uint8_t index) const {
  return std::ranges::any_of(shares_, [&](const KeyShare& share) { return share.index == index; });
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
