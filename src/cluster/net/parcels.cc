#include "cluster/net/parcels.h"

#include "cluster/wire/big_endian.h"

namespace bellwether::cluster {
namespace {

constexpr std::size_t kPieceHead = 8 + 8 + 4 + 2;
constexpr std::size_t kSlipBytes = 8 + 8;
constexpr std::size_t kFetchBytes = 8 + 4;

MutableBytes writable(std::string& text) { return {reinterpret_cast<std::byte*>(text.data()), text.size()}; }

}  // namespace

std::string encode(const ParcelPiece& piece) {
  std::string out(kPieceHead + piece.bytes.size(), '\0');
  wire::FixedWriter writer(writable(out));
  writer.put(piece.id);
  writer.put(piece.size);
  writer.put(piece.index);
  writer.put(piece.type);
  writer.put(piece.bytes);
  return out;
}

Result<ParcelPiece> decode_parcel_piece(Bytes bytes) {
  if (bytes.size() < kPieceHead) return fail(Errc::kProtocol, "a piece of a parcel that is cut short");
  wire::FixedReader reader(bytes);
  ParcelPiece piece;
  piece.id = reader.get<uint64_t>();
  piece.size = reader.get<uint64_t>();
  piece.index = reader.get<uint32_t>();
  piece.type = reader.get<uint16_t>();
  piece.bytes = bytes.subspan(kPieceHead);
  if (piece.size > wire::kMostBytesInPieces) {
    return fail(Errc::kTooLarge, "a parcel of {} bytes is above the limit of {}", piece.size, wire::kMostBytesInPieces);
  }
  if (piece.bytes.empty() || piece.bytes.size() != wire::piece_bytes(piece.size, piece.index)) {
    return fail(Errc::kProtocol, "a piece of a parcel that is no piece of it");
  }
  return piece;
}

std::string encode(const ParcelSlip& slip) {
  std::string out(kSlipBytes, '\0');
  wire::FixedWriter writer(writable(out));
  writer.put(slip.id);
  writer.put(slip.size);
  return out;
}

Result<ParcelSlip> decode_parcel_slip(Bytes bytes) {
  if (bytes.size() != kSlipBytes) return fail(Errc::kProtocol, "the slip of a parcel has another length");
  wire::FixedReader reader(bytes);
  ParcelSlip slip;
  slip.id = reader.get<uint64_t>();
  slip.size = reader.get<uint64_t>();
  if (slip.size == 0 || slip.size > wire::kMostBytesInPieces)
    return fail(Errc::kTooLarge, "a parcel of a size that is none");
  return slip;
}

std::string encode(const ParcelFetch& fetch) {
  std::string out(kFetchBytes, '\0');
  wire::FixedWriter writer(writable(out));
  writer.put(fetch.id);
  writer.put(fetch.index);
  return out;
}

Result<ParcelFetch> decode_parcel_fetch(Bytes bytes) {
  if (bytes.size() != kFetchBytes) return fail(Errc::kProtocol, "a question for a parcel has another length");
  wire::FixedReader reader(bytes);
  ParcelFetch fetch;
  fetch.id = reader.get<uint64_t>();
  fetch.index = reader.get<uint32_t>();
  return fetch;
}

void Parcels::drop_old(Instant now, Kept& kept, std::size_t& bytes) {
  for (auto at = kept.begin(); at != kept.end();) {
    if (at->second.until > now) {
      ++at;
      continue;
    }
    bytes -= at->second.size;
    at = kept.erase(at);
  }
}

void Parcels::drop(const void* connection, Kept& kept, std::size_t& bytes) {
  for (auto at = kept.lower_bound({connection, 0}); at != kept.end() && at->first.first == connection;) {
    bytes -= at->second.size;
    at = kept.erase(at);
  }
}

Status Parcels::make_room(Instant now, const Kept& where, const void* connection, uint64_t size) {
  drop_old(now, coming_, bytes_);
  drop_old(now, waiting_, bytes_);
  std::size_t own = 0;
  for (auto at = where.lower_bound({connection, 0}); at != where.end() && at->first.first == connection; ++at) ++own;
  if (own >= kMostOfOne || bytes_ + size > kMostBytes) {
    return fail(Errc::kExhausted, "too many large messages are under way here");
  }
  return {};
}

Result<std::optional<std::string>> Parcels::add(Instant now, const void* connection, const ParcelPiece& piece) {
  const Key key{connection, piece.id};
  auto at = coming_.find(key);
  if (at == coming_.end()) {
    if (piece.index != 0) return fail(Errc::kProtocol, "a parcel that does not begin with its first piece");
    BW_RETURN_IF_ERROR(make_room(now, coming_, connection, piece.size));
    at = coming_.emplace(key, Parcel{{}, piece.size, piece.type, now + kKept}).first;
    bytes_ += piece.size;
  }
  Parcel& parcel = at->second;
  const bool fits = parcel.size == piece.size && parcel.type == piece.type &&
                    parcel.bytes.size() == std::size_t{piece.index} * wire::kPieceBytes;
  if (!fits) {
    bytes_ -= parcel.size;
    coming_.erase(at);
    return fail(Errc::kProtocol, "pieces of a parcel that do not go together");
  }
  parcel.bytes += as_text(piece.bytes);
  if (parcel.bytes.size() < parcel.size) return std::optional<std::string>();
  std::optional<std::string> whole(std::move(parcel.bytes));
  bytes_ -= parcel.size;
  coming_.erase(at);
  return whole;
}

Result<ParcelSlip> Parcels::keep(Instant now, const void* connection, std::string body) {
  if (body.size() > wire::kMostBytesInPieces) return fail(Errc::kTooLarge, "an answer above the limit of a parcel");
  BW_RETURN_IF_ERROR(make_room(now, waiting_, connection, body.size()));
  const ParcelSlip slip{++next_, body.size()};
  bytes_ += body.size();
  waiting_.emplace(Key{connection, slip.id}, Parcel{std::move(body), slip.size, 0, now + kKept});
  return slip;
}

Result<std::string> Parcels::fetch(const void* connection, const ParcelFetch& fetch) {
  const auto at = waiting_.find({connection, fetch.id});
  if (at == waiting_.end() || fetch.index >= wire::pieces_of(at->second.size)) {
    return fail(Errc::kNotFound, "there is no such parcel any more");
  }
  std::string piece(wire::piece_of(at->second.bytes, fetch.index));
  if (fetch.index + 1 == wire::pieces_of(at->second.size)) {
    bytes_ -= at->second.size;
    waiting_.erase(at);
  }
  return piece;
}

void Parcels::closed(const void* connection) {
  drop(connection, coming_, bytes_);
  drop(connection, waiting_, bytes_);
}

}  // namespace bellwether::cluster
