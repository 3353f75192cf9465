// Values that are too large for one message (session.h), or for one value on a disk, travel and are kept in pieces of
// one size; the last may be shorter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bellwether::wire {

inline constexpr std::size_t kPieceBytes = std::size_t{512} << 10;       // half of what a message may have
inline constexpr std::size_t kMaxBytesInPieces = std::size_t{64} << 20;  // of one value
inline constexpr std::size_t kMaxPieces = kMaxBytesInPieces / kPieceBytes;

constexpr std::size_t pieces_of(uint64_t size) {
  return static_cast<std::size_t>((size + kPieceBytes - 1) / kPieceBytes);
}
// 0: no such piece.
constexpr std::size_t piece_bytes(uint64_t size, uint64_t index) {
  const uint64_t from = index * kPieceBytes;
  return from >= size ? 0 : static_cast<std::size_t>(std::min<uint64_t>(kPieceBytes, size - from));
}
// A view of `bytes`. REQUIRES index < pieces_of(bytes.size()).
constexpr std::string_view piece_of(std::string_view bytes, std::size_t index) {
  return bytes.substr(index * kPieceBytes, kPieceBytes);
}

}  // namespace bellwether::wire
