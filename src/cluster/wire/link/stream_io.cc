#include "cluster/wire/link/stream_io.h"

#include <algorithm>
#include <cstring>

#include "cluster/wire/big_endian.h"
#include "cluster/wire/frame.h"

namespace bellwether::link {

using runtime::Io;
using runtime::Stream;
using runtime::task;

PrefixedStream::PrefixedStream(std::unique_ptr<Stream> below, std::vector<std::byte> prefix)
    : Stream(below.get()), below_(std::move(below)), prefix_(std::move(prefix)) {
  if (!prefix_.empty()) keep_readable();
}

Io PrefixedStream::do_read(MutableBytes into) {
  if (prefix_.empty() || into.empty()) return below_->try_read(into);
  const std::size_t n = std::min(into.size(), prefix_.size());
  std::memcpy(into.data(), prefix_.data(), n);
  prefix_.erase(prefix_.begin(), prefix_.begin() + static_cast<std::ptrdiff_t>(n));
  keep_readable();  // the stream below may have more
  return Io::done(n);
}

task<Errc> read_at_least(Stream& stream, std::vector<std::byte>& bytes, std::size_t wanted, std::size_t most) {
  while (bytes.size() < wanted) {
    const Errc waited = co_await stream.readable();
    if (waited != Errc::kOk) co_return waited;
    const std::size_t have = bytes.size();
    bytes.resize(most);
    const Io io = stream.try_read(MutableBytes(bytes).subspan(have));
    bytes.resize(have + (io.kind == Io::Kind::kDone ? io.count : 0));
    if (io.kind == Io::Kind::kEnd) co_return Errc::kClosed;
    if (io.kind == Io::Kind::kError) co_return io.error;
  }
  co_return Errc::kOk;
}

task<FirstFrame> read_frame(Stream& stream, std::vector<std::byte>& bytes, std::size_t limit) {
  while (true) {
    const wire::FrameCut cut = wire::cut_frame(bytes, limit);
    if (cut.kind == wire::FrameCut::Kind::kRefused) co_return FirstFrame{Errc::kProtocol, cut.refusal, 0};
    if (cut.kind == wire::FrameCut::Kind::kFrame) {
      co_return FirstFrame{Errc::kOk, wire::Refusal::kNone, cut.consumed - wire::kLengthBytes};
    }
    const std::size_t most = std::max(bytes.size(), wire::kLengthBytes + limit);
    const Errc read = co_await read_at_least(stream, bytes, cut.needed, most);
    if (read != Errc::kOk) co_return FirstFrame{read, wire::Refusal::kTruncated, 0};
  }
}

std::vector<std::byte> framed(Bytes text) {
  std::vector<std::byte> frame(wire::kLengthBytes + text.size());
  wire::store_be(frame.data(), static_cast<uint32_t>(text.size()));
  std::memcpy(frame.data() + wire::kLengthBytes, text.data(), text.size());
  return frame;
}

wire::Proof proof_of(const runtime::Stream& secured, const runtime::TlsContext& context) {
  if (!context.verifies()) return std::nullopt;
  std::vector<wire::Claims> claims;
  for (const std::string& uri : runtime::tls_peer_uris(secured)) {
    auto claim = wire::parse_claims(uri);
    if (claim) claims.push_back(std::move(*claim));
  }
  return claims;
}

}  // namespace bellwether::link
