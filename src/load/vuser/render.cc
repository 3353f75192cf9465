#include "load/vuser/render.h"

#include "core/base/hex.h"
#include "load/vuser/builtin.h"

namespace bellwether::vuser {
namespace {

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
          out += kHexDigits[c >> 4];
          out += kHexDigits[c & 15];
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
    case plan::Escape::kJsonValue:
      if (!plan::is_json_value(text)) return false;
      out += text;
      return true;
  }
  return false;
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
      case plan::Piece::Kind::kBuiltin: {
        const std::size_t begin = out.size();
        append_builtin(piece, context, out);
        const bool typed = piece.escape == plan::Escape::kJsonValue;
        if (typed && !plan::is_json_value(std::string_view(out).substr(begin))) return false;
        break;
      }
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
    if (piece.kind == plan::Piece::Kind::kBuiltin && tells_time(piece.builtin)) return true;
  }
  return false;
}

}  // namespace bellwether::vuser
