#include "cluster/wire/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cluster/wire/big_endian.h"
#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

std::vector<std::byte> frame_of(Bytes text) {
  std::vector<std::byte> frame(kLengthBytes);
  store_be(frame.data(), static_cast<uint32_t>(text.size()));
  frame.insert(frame.end(), text.begin(), text.end());
  return frame;
}

TEST(Frame, a_length_of_zero_is_refused) {
  const auto cut = cut_frame(from_hex("00000000ff"));
  EXPECT_EQ(cut.kind, FrameCut::Kind::kRefused);
  EXPECT_EQ(cut.refusal, Refusal::kGarbage);
}

TEST(Frame, a_length_above_the_limit_is_refused_before_its_bytes_come) {
  const auto at_limit = cut_frame(from_hex("00100000"));
  EXPECT_EQ(at_limit.kind, FrameCut::Kind::kMore);
  EXPECT_EQ(at_limit.needed, kMaxFrame + kLengthBytes);
  const auto above = cut_frame(from_hex("00100001"));
  EXPECT_EQ(above.kind, FrameCut::Kind::kRefused);
  EXPECT_EQ(above.refusal, Refusal::kOversized);
}

TEST(Frame, a_probe_is_no_frame) { EXPECT_EQ(cut_frame(as_bytes("PING")).refusal, Refusal::kOversized); }

RC_GTEST_PROP(Frame, frames_come_out_whatever_pieces_they_come_in, (const std::vector<std::string>& raw)) {
  std::vector<std::byte> wire;
  std::vector<std::string> texts;
  for (const std::string& text : raw) {
    if (text.empty()) continue;
    texts.push_back(text);
    const auto frame = frame_of(as_bytes(text));
    wire.insert(wire.end(), frame.begin(), frame.end());
  }
  std::vector<std::byte> buffer;
  std::vector<std::string> got;
  std::size_t at = 0;
  while (at < wire.size()) {
    const std::size_t piece = *rc::gen::inRange<std::size_t>(1, wire.size() - at + 1);
    buffer.insert(buffer.end(), wire.begin() + static_cast<std::ptrdiff_t>(at),
                  wire.begin() + static_cast<std::ptrdiff_t>(at + piece));
    at += piece;
    while (true) {
      const FrameCut cut = cut_frame(buffer);
      if (cut.kind == FrameCut::Kind::kMore) {
        RC_ASSERT(cut.needed > buffer.size());
        break;
      }
      RC_ASSERT(cut.kind == FrameCut::Kind::kFrame);
      got.emplace_back(as_text(frame_payload(Bytes(buffer), cut)));
      buffer.erase(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(cut.consumed));
    }
  }
  RC_ASSERT(got == texts);
}

}  // namespace
}  // namespace bellwether::wire
