#include "core/secret/sharing.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/secret/polynomial.h"

namespace bellwether::secret {
namespace {

constexpr std::size_t kSaltBytes = std::tuple_size_v<Salt>;

// Does not stop at the first byte that is not zero: the time would reveal its place.
bool all_zero(Bytes bytes) {
  std::byte any{0};
  for (const std::byte byte : bytes) any |= byte;
  return any == std::byte{0};
}

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
    if (std::any_of(points.begin(), points.end(), [&](const Point& point) { return point.x == share.index; })) {
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

}  // namespace bellwether::secret
