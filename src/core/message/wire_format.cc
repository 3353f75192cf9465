#include "core/message/wire_format.h"

namespace bellwether::message {

void put_varint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void put_tag(uint32_t number, WireType type, std::string& out) {
  put_varint(uint64_t{number} << 3 | static_cast<uint64_t>(type), out);
}

void put_fixed64(uint64_t value, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift);
}

void insert_length(std::size_t start, std::string& out) {
  std::string length;
  put_varint(out.size() - start, length);
  out.insert(start, length);
}

std::optional<uint64_t> WireReader::varint() {
  uint64_t value = 0;
  for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= uint64_t{byte & 0x7FU} << (7 * i);
    if ((byte & 0x80U) != 0) continue;
    rest_.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

std::optional<uint64_t> WireReader::fixed(std::size_t bytes) {
  if (rest_.size() < bytes) return std::nullopt;
  uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  rest_.remove_prefix(bytes);
  return value;
}

std::optional<WireReader::Part> WireReader::part() {
  const auto tag = varint();
  // Of a longer tag some parsers see the last 32 bits only, and another field than this.
  if (!tag || *tag > UINT32_MAX || *tag >> 3 == 0) return std::nullopt;
  Part out;
  out.number = static_cast<uint32_t>(*tag >> 3);
  out.type = static_cast<WireType>(*tag & 7);
  std::optional<uint64_t> value;
  switch (out.type) {
    case WireType::kVarint: value = varint(); break;
    case WireType::kFixed64: value = fixed(8); break;
    case WireType::kFixed32: value = fixed(4); break;
    case WireType::kBytes:
      value = varint();
      if (!value || *value > rest_.size()) return std::nullopt;
      out.bytes = rest_.substr(0, *value);
      rest_.remove_prefix(*value);
      break;
    default: return std::nullopt;
  }
  if (!value) return std::nullopt;
  out.value = *value;
  return out;
}

}  // namespace bellwether::message
