#include "cluster/wire/compress.h"

#include <optional>
#include <zlib.h>

#include "cluster/wire/big_endian.h"

namespace bellwether::wire {
namespace {

constexpr std::size_t kSizeBytes = 4;

Refusal judge(std::size_t inflated, std::size_t compressed, const InflateLimits& limits) {
  if (compressed > limits.compressed) return Refusal::kOversized;
  if (inflated > limits.inflated || inflated / limits.ratio > compressed) return Refusal::kBomb;
  return Refusal::kNone;
}

Bytef* raw(const std::byte* bytes) { return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes)); }

// A new state of zlib for each body would cost more than to compress it: a quarter of a MiB is allocated, cleared, and
// given back to the system.
class Deflater {
 public:
  Deflater() : ready_(deflateInit(&stream_, Z_BEST_SPEED) == Z_OK) {}
  ~Deflater() {
    if (ready_) deflateEnd(&stream_);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // The bytes written; nothing if there is not enough room, or there was no memory for the state.
  std::optional<std::size_t> deflate(Bytes body, MutableBytes room) {
    if (!ready_) return std::nullopt;
    deflateReset(&stream_);
    stream_.next_in = raw(body.data());
    stream_.avail_in = static_cast<uInt>(body.size());
    stream_.next_out = raw(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    if (::deflate(&stream_, Z_FINISH) != Z_STREAM_END) return std::nullopt;
    return room.size() - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool ready_;
};

}  // namespace

bool deflate_body(Bytes body, const InflateLimits& limits, std::vector<std::byte>& out) {
  if (body.size() <= kSizeBytes || body.size() > limits.inflated) return false;
  const std::size_t before = out.size();
  // Room for what is still smaller; a stream that needs more is not worth it.
  out.resize(before + body.size() - 1);
  store_be(out.data() + before, static_cast<uint32_t>(body.size()));
  static thread_local Deflater deflater;
  const auto size = deflater.deflate(body, MutableBytes(out).subspan(before + kSizeBytes));
  const bool good = size && judge(body.size(), kSizeBytes + *size, limits) == Refusal::kNone;
  out.resize(good ? before + kSizeBytes + *size : before);
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
