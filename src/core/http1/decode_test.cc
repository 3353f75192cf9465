#include <brotli/encode.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "core/http1/body_coding.h"

namespace bellwether::http1 {
namespace {

constexpr int kGzipWindow = 16 + MAX_WBITS;
constexpr int kZlibWindow = MAX_WBITS;
constexpr int kBareWindow = -MAX_WBITS;
constexpr std::size_t kPlenty = 1 << 24;

std::string deflated(std::string_view text, int window) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string brotlied(std::string_view text) {
  std::size_t size = BrotliEncoderMaxCompressedSize(text.size()) + 64;
  std::string out(size, '\0');
  EXPECT_TRUE(BrotliEncoderCompress(5, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, text.size(),
                                    reinterpret_cast<const uint8_t*>(text.data()), &size,
                                    reinterpret_cast<uint8_t*>(out.data())));
  out.resize(size);
  return out;
}

std::string zstded(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  EXPECT_EQ(ZSTD_isError(size), 0u);
  out.resize(size);
  return out;
}

struct Coding {
  const char* name;
  Encoding encoding;
  std::string (*encode)(std::string_view);
};
const Coding kCodings[] = {
    {"gzip", Encoding::kGzip, [](std::string_view text) { return deflated(text, kGzipWindow); }},
    {"deflate", Encoding::kDeflate, [](std::string_view text) { return deflated(text, kZlibWindow); }},
    {"bare deflate", Encoding::kDeflate, [](std::string_view text) { return deflated(text, kBareWindow); }},
    {"brotli", Encoding::kBrotli, [](std::string_view text) { return brotlied(text); }},
    {"zstd", Encoding::kZstd, [](std::string_view text) { return zstded(text); }},
};

struct DecodeDecoded {
  Errc error = Errc::kOk;
  std::string text;
};

// Decodes in pieces of `piece` bytes, to the end.
DecodeDecoded decode(Decoder& decoder, Encoding encoding, std::string_view body, std::size_t piece = kPlenty,
                     std::size_t most = kPlenty) {
  DecodeDecoded out;
  decoder.reset(encoding);
  while (!body.empty() && out.error == Errc::kOk) {
    out.error = decoder.feed(body.substr(0, piece), out.text, most);
    body.remove_prefix(std::min(piece, body.size()));
  }
  if (out.error == Errc::kOk) out.error = decoder.finish();
  return out;
}
DecodeDecoded decode(Encoding encoding, std::string_view body, std::size_t piece = kPlenty,
                     std::size_t most = kPlenty) {
  Decoder decoder;
  return decode(decoder, encoding, body, piece, most);
}

std::string text_of(std::size_t size) {
  std::string text;
  for (int line = 0; text.size() < size; ++line) text += "line " + std::to_string(line) + "\n";
  text.resize(size);
  return text;
}

TEST(Decode, every_coding_gives_back_what_went_in_at_every_size) {
  for (const Coding& coding : kCodings) {
    for (const std::size_t size : {0, 1, 100, 16383, 16384, 16385, 32768, 300'000}) {
      const std::string text = text_of(size);
      const std::string body = coding.encode(text);
      for (const std::size_t piece : {std::size_t{1}, std::size_t{4096}, kPlenty}) {
        const DecodeDecoded decoded = decode(coding.encoding, body, piece);
        EXPECT_EQ(decoded.error, Errc::kOk) << coding.name << size;
        EXPECT_TRUE(decoded.text == text) << coding.name << " " << size << " in " << piece;
      }
    }
  }
}

RC_GTEST_PROP(Decode, any_bytes_come_back, ()) {
  const auto text = *rc::gen::arbitrary<std::string>();
  const auto piece = *rc::gen::inRange<std::size_t>(1, 50);
  for (const Coding& coding : kCodings) {
    const DecodeDecoded decoded = decode(coding.encoding, coding.encode(text), piece);
    RC_ASSERT(decoded.error == Errc::kOk);
    RC_ASSERT(decoded.text == text);
  }
}

TEST(Decode, one_decoder_does_one_body_after_another_of_any_kind) {
  Decoder decoder;
  for (int round = 0; round < 3; ++round) {
    for (const Coding& coding : kCodings) {
      const std::string text = coding.name + std::to_string(round);
      EXPECT_EQ(decode(decoder, coding.encoding, "garbage").error, Errc::kProtocol) << coding.name;
      EXPECT_EQ(decode(decoder, coding.encoding, coding.encode(text)).text, text);
    }
  }
}

TEST(Decode, a_body_that_was_cut_is_broken) {
  const std::string text = text_of(1000);
  for (const Coding& coding : kCodings) {
    const std::string body = coding.encode(text);
    for (std::size_t size = 0; size < body.size(); size += 1 + body.size() / 40) {
      EXPECT_EQ(decode(coding.encoding, body.substr(0, size)).error, Errc::kProtocol) << coding.name << size;
    }
    EXPECT_EQ(decode(coding.encoding, body.substr(0, body.size() - 1)).error, Errc::kProtocol) << coding.name;
  }
}

TEST(Decode, bytes_behind_the_end_are_broken) {
  for (const Coding& coding : kCodings) {
    const std::string body = coding.encode("text") + "x";
    EXPECT_EQ(decode(coding.encoding, body).error, Errc::kProtocol) << coding.name;
    EXPECT_EQ(decode(coding.encoding, body, 1).error, Errc::kProtocol) << coding.name;
  }
}

TEST(Decode, a_checksum_that_does_not_fit_is_broken) {
  std::string body = deflated("text", kGzipWindow);
  body[body.size() - 6] = static_cast<char>(body[body.size() - 6] ^ 1);
  EXPECT_EQ(decode(Encoding::kGzip, body).error, Errc::kProtocol);
}

TEST(Decode, gzip_may_have_several_members) {
  const std::string body = deflated("one ", kGzipWindow) + deflated("", kGzipWindow) + deflated("two", kGzipWindow);
  for (const std::size_t piece : {std::size_t{1}, kPlenty}) {
    const DecodeDecoded decoded = decode(Encoding::kGzip, body, piece);
    EXPECT_EQ(decoded.error, Errc::kOk);
    EXPECT_EQ(decoded.text, "one two");
  }
  EXPECT_EQ(decode(Encoding::kGzip, body + "\x1f").error, Errc::kProtocol);
}

TEST(Decode, the_limit_holds_to_the_byte) {
  for (const Coding& coding : kCodings) {
    for (const std::size_t size : {1, 100, 16384, 20'000}) {
      const std::string text = text_of(size);
      const std::string body = coding.encode(text);
      EXPECT_EQ(decode(coding.encoding, body, kPlenty, size).text, text) << coding.name << size;
      EXPECT_EQ(decode(coding.encoding, body, kPlenty, size - 1).error, Errc::kTooLarge) << coding.name << size;
      EXPECT_EQ(decode(coding.encoding, body, 1, size - 1).error, Errc::kTooLarge) << coding.name << size;
    }
  }
}

TEST(Decode, a_small_body_that_unfolds_without_end_is_stopped_at_the_limit) {
  const std::string zeros(64 << 20, '\0');
  for (const Coding& coding : kCodings) {
    const std::string bomb = coding.encode(zeros);
    ASSERT_LT(bomb.size(), 100'000U);
    const DecodeDecoded decoded = decode(coding.encoding, bomb, kPlenty, 100'000);
    EXPECT_EQ(decoded.error, Errc::kTooLarge) << coding.name;
    EXPECT_LE(decoded.text.capacity(), 400'000U) << coding.name;
  }
}

}  // namespace
}  // namespace bellwether::http1
