#include "cluster/wire/compress.h"

#include <zlib.h>

#include "cluster/wire/big_endian.h"
#include "core/base/check.h"

namespace bellwether::wire {
namespace {

constexpr std::size_t kSizeBytes = 4;

Refusal judge(std::size_t inflated, std::size_t compressed, const InflateLimits& limits) {
  if (compressed > limits.compressed) return Refusal::kOversized;
  if (inflated > limits.inflated || inflated / limits.ratio > compressed) return Refusal::kBomb;
  return Refusal::kNone;
}

Bytef* raw(const std::byte* bytes) { return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes)); }

}  // namespace

bool deflate_body(Bytes body, const InflateLimits& limits, std::vector<std::byte>& out) {
  if (body.size() <= kSizeBytes || body.size() > limits.inflated) return false;
  const std::size_t before = out.size();
  // Room for what is still smaller; a stream that needs more is not worth it.
  out.resize(before + body.size() - 1);
  store_be(out.data() + before, static_cast<uint32_t>(body.size()));
  uLongf size = static_cast<uLongf>(body.size() - 1 - kSizeBytes);
  const int done = compress2(raw(out.data() + before + kSizeBytes), &size, raw(body.data()),
                             static_cast<uLong>(body.size()), Z_BEST_SPEED);
  const bool good = done == Z_OK && judge(body.size(), kSizeBytes + size, limits) == Refusal::kNone;
  out.resize(good ? before + kSizeBytes + size : before);
  return good;
}

Refusal inflate_body(Bytes compressed, const InflateLimits& limits, std::vector<std::byte>& out) {
  if (compressed.size() <= kSizeBytes) return Refusal::kTruncated;
  const std::size_t announced = load_be<uint32_t>(compressed.data());
  const Refusal refusal = judge(announced, compressed.size(), limits);
  if (refusal != Refusal::kNone) return refusal;
  out.resize(announced);
  uLongf size = static_cast<uLongf>(announced);
  uLong used = static_cast<uLong>(compressed.size() - kSizeBytes);
  const uLong all = used;
  const int done = uncompress2(raw(out.data()), &size, raw(compressed.data() + kSizeBytes), &used);
  if (done == Z_OK && size == announced && used == all) return Refusal::kNone;
  out.clear();
  return Refusal::kGarbage;
}

}  // namespace bellwether::wire
