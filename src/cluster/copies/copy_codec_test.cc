#include "cluster/copies/copy_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bellwether::copies {
namespace {

using testing::HasSubstr;

CopyHead head_of(std::size_t size) {
  CopyHead head{{JobFence(7), 9}, size, {}};
  for (std::size_t i = 0; i < pieces_of(size); ++i) head.pieces.push_back(wire::sha256(as_bytes(std::to_string(i))));
  return head;
}

template <class Body>
Body survives(Body body) {
  const auto again = decode_question(encode_question({77, std::move(body)}));
  EXPECT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->peers, 77u);
  return std::get<Body>(again->question);
}

std::string refusal(const Question& question) {
  const auto decoded = decode_question(encode_question({1, question}));
  return decoded ? "" : decoded.error().message;
}

TEST(CopyCodec, questions_survive) {
  const CopyKey key{"a job", "bundle"};
  EXPECT_EQ(survives(Look{key, JobFence(3)}).fence, JobFence(3));
  const Offer offer = survives(Offer{key, head_of(3 * kPieceBytes + 1), true});
  EXPECT_EQ(offer.head, head_of(3 * kPieceBytes + 1));
  EXPECT_TRUE(offer.again);
  const Piece piece = survives(Piece{key, {JobFence(1), 2}, 5, true, std::string("a\0b", 3)});
  EXPECT_EQ(piece.bytes, std::string("a\0b", 3));
  EXPECT_EQ(piece.index, 5u);
  EXPECT_EQ(survives(Fetch{key, {JobFence(1), 2}, 5}).version, (Version{JobFence(1), 2}));
  EXPECT_TRUE(survives(Drop{"a job", true}).leftover);
}

TEST(CopyCodec, answers_and_records_survive) {
  Answer answer{Verdict::kKept, head_of(kPieceBytes), {1, 2}, "bytes", JobFence(4), "why\n"};
  const auto again = decode_answer(encode_answer(answer));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->head, answer.head);
  EXPECT_EQ(again->wanted, answer.wanted);
  EXPECT_EQ(again->bytes, "bytes");
  EXPECT_EQ(again->why, "why?");
  const CopyRecord record{{"job", "account"}, head_of(kPieceBytes + 1), 17};
  EXPECT_EQ(decode_record(encode_record(record)), record);
  EXPECT_EQ(decode_record("nonsense").error().code, Errc::kInvalid);
}

TEST(CopyCodec, what_is_out_of_bounds_is_refused) {
  const CopyKey key{"job", "bundle"};
  EXPECT_THAT(refusal(Look{{"", "bundle"}, {}}), HasSubstr("a key out of its bounds"));
  EXPECT_THAT(refusal(Look{{std::string(dispatch::kMostKeyBytes + 1, 'j'), "bundle"}, {}}), HasSubstr("a key out"));
  EXPECT_THAT(refusal(Look{{"job", "Bundle"}, {}}), HasSubstr("a key out"));
  EXPECT_THAT(refusal(Look{key, JobFence(UINT64_MAX)}), HasSubstr("a fence out"));
  CopyHead head = head_of(kPieceBytes);
  head.size = kMostCopyBytes + 1;
  EXPECT_THAT(refusal(Offer{key, head, false}), HasSubstr("a value out"));
  head.size = kPieceBytes + 1;
  EXPECT_THAT(refusal(Offer{key, head, false}), HasSubstr("a value out"));
  EXPECT_THAT(refusal(Piece{key, {}, kMostPieces, false, ""}), HasSubstr("a piece out"));
  EXPECT_THAT(refusal(Piece{key, {}, 0, false, std::string(kPieceBytes + 1, 'x')}), HasSubstr("too long"));
  EXPECT_THAT(refusal(Drop{"", false}), HasSubstr("a job out"));
  EXPECT_EQ(decode_question("").error().code, Errc::kUnsupported);
  EXPECT_EQ(decode_question("\xff").error().code, Errc::kProtocol);
}

}  // namespace
}  // namespace bellwether::copies
