#include "cluster/net/chunks.h"

#include <gtest/gtest.h>

#include "cluster/net/peer_links_testing.h"
#include "core/base/prng.h"

namespace bellwether::cluster {
namespace {

constexpr Instant kNow = Instant::from_ns(1'000'000'000);
const int kOne = 1;
const int kOther = 2;

std::string body_of(std::size_t size) {
  Prng prng(size);
  std::string body(size, '\0');
  for (char& c : body) c = static_cast<char>(prng.next());
  return body;
}

Chunk piece_of(const std::string& body, uint64_t id, uint32_t index, uint16_t type = 7) {
  return {id, body.size(), index, type, as_bytes(wire::piece_of(body, index))};
}

TEST(Chunks, ARequestArrivesWholeWhateverItsSize) {
  Chunks chunks;
  for (const std::size_t size :
       {std::size_t{1}, wire::kPieceBytes - 1, wire::kPieceBytes, wire::kPieceBytes + 1, 3 * wire::kPieceBytes + 17}) {
    const std::string body = body_of(size);
    for (uint32_t i = 0; i < wire::pieces_of(size); ++i) {
      const std::string bytes = encode(piece_of(body, 9, i));
      const auto piece = decode_chunk(as_bytes(bytes));
      ASSERT_TRUE(piece) << piece.error().message;
      const auto whole = chunks.add(kNow, &kOne, *piece);
      ASSERT_TRUE(whole);
      ASSERT_EQ(whole->has_value(), i + 1 == wire::pieces_of(size));
      if (whole->has_value()) EXPECT_EQ(**whole, body);
    }
  }
}

TEST(Chunks, AnAnswerIsFetchedOnceByWhoeverAsked) {
  Chunks chunks;
  const std::string body = body_of(2 * wire::kPieceBytes + 5);
  const auto manifest = chunks.keep(kNow, &kOne, body);
  ASSERT_TRUE(manifest);
  const auto read = decode_chunk_manifest(as_bytes(encode(*manifest)));
  ASSERT_TRUE(read);
  EXPECT_FALSE(chunks.fetch(&kOther, {manifest->id, 0})) << "it is for another connection";
  std::string got;
  for (uint32_t i = 0; i < wire::pieces_of(read->size); ++i) {
    const auto fetch = decode_chunk_fetch(as_bytes(encode(ChunkFetch{manifest->id, i})));
    const auto piece = chunks.fetch(&kOne, *fetch);
    ASSERT_TRUE(piece);
    got += *piece;
  }
  EXPECT_EQ(got, body);
  EXPECT_FALSE(chunks.fetch(&kOne, {manifest->id, 0}));
}

TEST(Chunks, PiecesThatDoNotGoTogetherAreRefusedAndNothingStays) {
  Chunks chunks;
  const std::string body = body_of(3 * wire::kPieceBytes);
  EXPECT_FALSE(chunks.add(kNow, &kOne, piece_of(body, 1, 1))) << "the first is missing";
  ASSERT_TRUE(chunks.add(kNow, &kOne, piece_of(body, 1, 0)));
  EXPECT_FALSE(chunks.add(kNow, &kOne, piece_of(body, 1, 2))) << "the second is missing";
  EXPECT_FALSE(chunks.add(kNow, &kOne, piece_of(body, 1, 1))) << "it was thrown away";
  ASSERT_TRUE(chunks.add(kNow, &kOne, piece_of(body, 2, 0)));
  EXPECT_FALSE(chunks.add(kNow, &kOne, piece_of(body, 2, 1, 8))) << "of another type";
}

TEST(Chunks, WhatIsNoPieceIsRefused) {
  const std::string body = body_of(wire::kPieceBytes + 5);
  std::string bytes = encode(piece_of(body, 1, 1));
  EXPECT_TRUE(decode_chunk(as_bytes(bytes)));
  EXPECT_FALSE(decode_chunk(as_bytes(bytes.substr(0, bytes.size() - 1))));
  EXPECT_FALSE(decode_chunk(as_bytes(bytes.substr(0, 10))));
  Chunk piece = piece_of(body, 1, 1);
  piece.index = 2;
  EXPECT_FALSE(decode_chunk(as_bytes(encode(piece))));
  piece.size = wire::kMaxBytesInPieces + 1;
  EXPECT_EQ(decode_chunk(as_bytes(encode(piece))).error().code, Errc::kTooLarge);
}

TEST(Chunks, AreBoundedAndForgotten) {
  Chunks chunks;
  const std::string body = body_of(2 * wire::kPieceBytes);
  for (uint64_t id = 1; id <= Chunks::kMaxOfOne; ++id) {
    ASSERT_TRUE(chunks.add(kNow, &kOne, piece_of(body, id, 0)));
  }
  EXPECT_EQ(chunks.add(kNow, &kOne, piece_of(body, 99, 0)).error().code, Errc::kExhausted);
  EXPECT_TRUE(chunks.add(kNow, &kOther, piece_of(body, 99, 0))) << "somebody else has room";
  EXPECT_TRUE(chunks.add(kNow + Chunks::kKept, &kOne, piece_of(body, 99, 0))) << "after a minute they are old";
  chunks.closed(&kOne);
  for (uint64_t id = 1; id <= Chunks::kMaxOfOne; ++id) {
    ASSERT_TRUE(chunks.keep(kNow + Chunks::kKept, &kOne, body));
  }
  EXPECT_EQ(chunks.keep(kNow + Chunks::kKept, &kOne, body).error().code, Errc::kExhausted);
}

// Answers with what it was asked, however much that is.
class LargeEcho final : public Service {
 public:
  explicit LargeEcho(MessageRouter& router) : router_(router) {}
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    router_.respond(connection, request.id, std::string(as_text(request.body)));
  }

 private:
  MessageRouter& router_;
};

using ChunkLinksTest = PeerLinksTest;

TEST_F(ChunkLinksTest, ALargeQuestionAndItsAnswerArriveWhole) {
  LargeEcho echo(theirs_);
  theirs_.disconnect(kQuestion);
  theirs_.connect(kQuestion, echo);
  for (const std::size_t size : {std::size_t{100}, wire::kPieceBytes, wire::kPieceBytes + 1, std::size_t{9} << 20}) {
    const std::string body = body_of(size);
    const auto answer = ask(body);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(*answer == body) << size;
  }
  const auto too_large = ask(std::string(wire::kMaxBytesInPieces + 1, 'x'));
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, Errc::kTooLarge);
  theirs_.disconnect(kQuestion);
}

}  // namespace
}  // namespace bellwether::cluster
