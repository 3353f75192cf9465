// The first bytes of a connection, before a Connection exists: whole frames with a limit, read and written by
// coroutines. Private to the link sources.
#pragma once

#include <memory>
#include <vector>

#include "cluster/wire/handshake.h"
#include "cluster/wire/refusal.h"
#include "core/runtime/runtime.h"
#include "core/runtime/tls.h"

namespace bellwether::link {

// Returns the bytes that were inspected before, then those of the stream below.
class PrefixedStream final : public runtime::Stream {
 public:
  PrefixedStream(std::unique_ptr<runtime::Stream> below, std::vector<std::byte> prefix);
  void finish_writing() override { below_->finish_writing(); }
  runtime::Endpoint peer() const override { return below_->peer(); }

 protected:
  runtime::Io do_read(MutableBytes into) override;
  runtime::Io do_write(Bytes bytes) override { return below_->try_write(bytes); }
  bool nothing_to_read() override { return prefix_.empty(); }

 private:
  std::unique_ptr<runtime::Stream> below_;
  std::vector<std::byte> prefix_;
};

// Appends bytes until at least `wanted` are there; never more than `most`. kOk, or why not (kClosed: the end).
runtime::task<Errc> read_at_least(runtime::Stream& stream, std::vector<std::byte>& bytes, std::size_t wanted,
                                  std::size_t most);

// Reads one whole frame to the front of `bytes`; `text` is its size without the length. Further bytes stay behind it.
struct FirstFrame {
  Errc error = Errc::kOk;
  wire::Refusal refusal = wire::Refusal::kNone;  // with kProtocol
  std::size_t text = 0;
};
runtime::task<FirstFrame> read_frame(runtime::Stream& stream, std::vector<std::byte>& bytes, std::size_t limit);

// A frame around a text.
std::vector<std::byte> framed(Bytes text);

// The claims of the certificate at the other end of a secured stream. Private to the link sources.

// Nothing when `context` verifies no certificates; else one entry for each URI of ours, maybe none.
wire::Proof proof_of(const runtime::Stream& secured, const runtime::TlsContext& context);

}  // namespace bellwether::link
