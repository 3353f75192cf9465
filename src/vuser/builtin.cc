#include "vuser/builtin.h"

#include <ctime>
#include <string_view>

#include "vuser/fake.h"
#include "vuser/numbers.h"

namespace bellwether::vuser {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kLettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

void append_hex(uint64_t bytes, Prng& prng, std::string& out) {
  uint64_t bits = 0;
  for (uint64_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0) bits = prng.next();
    out += kHexDigits[(bits >> 4) & 15];
    out += kHexDigits[bits & 15];
    bits >>= 8;
  }
}

// RFC 9562, version 4.
void append_uuid(Prng& prng, std::string& out) {
  const std::size_t start = out.size();
  append_hex(16, prng, out);
  out[start + 12] = '4';
  out[start + 16] = "89ab"[prng.below(4)];
  for (const std::size_t dash : {20u, 16u, 12u, 8u}) out.insert(start + dash, 1, '-');
}

void append_drawn(std::string_view from, int64_t count, Prng& prng, std::string& out) {
  for (int64_t i = 0; i < count; ++i) out += from[prng.below(from.size())];
}

void append_calendar(int64_t unix_s, const char* form, std::string& out) {
  const auto seconds = static_cast<time_t>(unix_s);
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40];
  out.append(text, std::strftime(text, sizeof text, form, &utc));
}

void append_now(WallTime now, std::string& out) {
  append_calendar(now.unix_ns / 1'000'000'000, "%Y-%m-%dT%H:%M:%S.", out);
  append_padded(static_cast<uint64_t>(now.unix_ns / 1'000'000 % 1000), 3, out);
  out += 'Z';
}

}  // namespace

void append_builtin(const plan::Piece& piece, const RenderContext& context, std::string& out) {
  using plan::Builtin;
  constexpr int64_t kDayS = 24 * 3600;
  Prng& prng = context.prng;
  const int64_t unix_s = context.now.unix_ns / 1'000'000'000;
  switch (piece.builtin) {
    case Builtin::kVu: append_number(context.vu, out); break;
    case Builtin::kIteration: append_number(context.iteration, out); break;
    case Builtin::kNow: append_now(context.now, out); break;
    case Builtin::kNowMs: append_number(context.now.unix_ns / 1'000'000, out); break;
    case Builtin::kNowS: append_number(unix_s, out); break;
    case Builtin::kDate: append_calendar(unix_s + piece.low * kDayS, "%Y-%m-%d", out); break;
    case Builtin::kUuid: append_uuid(prng, out); break;
    case Builtin::kRandomInt: append_number(prng.between(piece.low, piece.high), out); break;
    case Builtin::kRandomFloat: append_decimal(prng.between(piece.low, piece.high), piece.decimals, out); break;
    case Builtin::kRandomString: append_drawn(kLettersAndDigits, piece.low, prng, out); break;
    case Builtin::kRandomAlpha: append_drawn(kLetters, piece.low, prng, out); break;
    case Builtin::kRandomDigits: append_drawn(kDigits, piece.low, prng, out); break;
    case Builtin::kRandomHex: append_hex(static_cast<uint64_t>(piece.low), prng, out); break;
    default: append_fake(piece, prng, out); break;
  }
}

bool tells_time(plan::Builtin builtin) {
  using plan::Builtin;
  return builtin == Builtin::kNow || builtin == Builtin::kNowMs || builtin == Builtin::kNowS ||
         builtin == Builtin::kDate;
}

}  // namespace bellwether::vuser
