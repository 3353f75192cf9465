#include "vuser/render.h"

#include <charconv>
#include <cstdio>
#include <ctime>

namespace bellwether::vuser {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_json(std::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[c >> 4];
          out += kHex[c & 15];
        } else {
          out += c;
        }
    }
  }
}

bool unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void append_url(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += "0123456789ABCDEF"[byte >> 4];
      out += "0123456789ABCDEF"[byte & 15];
    }
  }
}

bool append_escaped(std::string_view text, plan::Escape escape, std::string& out) {
  switch (escape) {
    case plan::Escape::kNone: out += text; return true;
    case plan::Escape::kJson: append_json(text, out); return true;
    case plan::Escape::kUrl: append_url(text, out); return true;
    case plan::Escape::kHeader:
      if (text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return false;
      out += text;
      return true;
  }
  return false;
}

template <class Number>
void append_number(Number value, std::string& out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

void append_hex(uint64_t bytes, Prng& prng, std::string& out) {
  uint64_t bits = 0;
  for (uint64_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0) bits = prng.next();
    out += kHex[(bits >> 4) & 15];
    out += kHex[bits & 15];
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

void append_time(WallTime now, std::string& out) {
  const auto seconds = static_cast<time_t>(now.unix_ns / 1'000'000'000);
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  out.append(text, n);
  std::snprintf(text, sizeof text, ".%03dZ", static_cast<int>(now.unix_ns / 1'000'000 % 1000));
  out += text;
}

void append_builtin(const plan::Piece& piece, const RenderContext& context, std::string& out) {
  switch (piece.builtin) {
    case plan::Builtin::kVu: append_number(context.vu, out); break;
    case plan::Builtin::kIteration: append_number(context.iteration, out); break;
    case plan::Builtin::kNow: append_time(context.now, out); break;
    case plan::Builtin::kNowMs: append_number(context.now.unix_ns / 1'000'000, out); break;
    case plan::Builtin::kUuid: append_uuid(context.prng, out); break;
    case plan::Builtin::kRandomInt: append_number(context.prng.between(piece.low, piece.high), out); break;
    case plan::Builtin::kRandomHex: append_hex(static_cast<uint64_t>(piece.low), context.prng, out); break;
  }
}

// False: the element does not fit its surroundings.
bool append_list(const plan::Piece& piece, const RenderContext& context, std::string& out) {
  const auto& elements = piece.list->elements;
  if (piece.pick == plan::Pick::kWhole) {
    out += piece.list->whole;
    return true;
  }
  const std::size_t index =
      piece.pick == plan::Pick::kRandom ? context.prng.below(elements.size()) : (context.vu - 1) % elements.size();
  if (!elements[index]) return false;
  out += *elements[index];
  return true;
}

}  // namespace

bool render(const plan::Template& source, const RenderContext& context, std::string& out) {
  for (const plan::Piece& piece : source.pieces) {
    switch (piece.kind) {
      case plan::Piece::Kind::kLiteral: out += piece.literal; break;
      case plan::Piece::Kind::kBuiltin: append_builtin(piece, context, out); break;
      case plan::Piece::Kind::kGiven: return false;  // nobody provided it
      case plan::Piece::Kind::kList:
        if (!append_list(piece, context, out)) return false;
        break;
      case plan::Piece::Kind::kSlot:
        if (!context.values.has(piece.slot)) return false;
        if (!append_escaped(context.values.get(piece.slot), piece.escape, out)) return false;
        break;
    }
  }
  return true;
}

bool mentions_time(const plan::Template& source) {
  for (const plan::Piece& piece : source.pieces) {
    if (piece.kind == plan::Piece::Kind::kBuiltin &&
        (piece.builtin == plan::Builtin::kNow || piece.builtin == plan::Builtin::kNowMs)) {
      return true;
    }
  }
  return false;
}

}  // namespace bellwether::vuser
