#include "cluster/net/chunks.h"

#include "cluster/wire/big_endian.h"

namespace bellwether::cluster {
namespace {

constexpr std::size_t kPieceHead = 8 + 8 + 4 + 2;
constexpr std::size_t kManifestBytes = 8 + 8;
constexpr std::size_t kFetchBytes = 8 + 4;

MutableBytes writable(std::string& text) { return {reinterpret_cast<std::byte*>(text.data()), text.size()}; }

}  // namespace

std::string encode(const Chunk& piece) {
  std::string out(kPieceHead + piece.bytes.size(), '\0');
  wire::FixedWriter writer(writable(out));
  writer.put(piece.id);
  writer.put(piece.size);
  writer.put(piece.index);
  writer.put(piece.type);
  writer.put(piece.bytes);
  return out;
}

Result<Chunk> decode_chunk(Bytes bytes) {
  if (bytes.size() < kPieceHead) return fail(Errc::kProtocol, "a chunk is truncated");
  wire::FixedReader reader(bytes);
  Chunk piece;
  piece.id = reader.get<uint64_t>();
  piece.size = reader.get<uint64_t>();
  piece.index = reader.get<uint32_t>();
  piece.type = reader.get<uint16_t>();
  piece.bytes = bytes.subspan(kPieceHead);
  if (piece.size > wire::kMaxBytesInPieces) {
    return fail(Errc::kTooLarge, "a chunked message of {} bytes exceeds the limit of {}", piece.size,
                wire::kMaxBytesInPieces);
  }
  if (piece.bytes.empty() || piece.bytes.size() != wire::piece_bytes(piece.size, piece.index)) {
    return fail(Errc::kProtocol, "the size of a chunk does not match its message");
  }
  return piece;
}

std::string encode(const ChunkManifest& manifest) {
  std::string out(kManifestBytes, '\0');
  wire::FixedWriter writer(writable(out));
  writer.put(manifest.id);
  writer.put(manifest.size);
  return out;
}

Result<ChunkManifest> decode_chunk_manifest(Bytes bytes) {
  if (bytes.size() != kManifestBytes)
    return fail(Errc::kProtocol, "the manifest of a chunked answer has a wrong length");
  wire::FixedReader reader(bytes);
  ChunkManifest manifest;
  manifest.id = reader.get<uint64_t>();
  manifest.size = reader.get<uint64_t>();
  if (manifest.size == 0 || manifest.size > wire::kMaxBytesInPieces)
    return fail(Errc::kTooLarge, "a chunked message has an impossible size");
  return manifest;
}

std::string encode(const ChunkFetch& fetch) {
  std::string out(kFetchBytes, '\0');
  wire::FixedWriter writer(writable(out));
  writer.put(fetch.id);
  writer.put(fetch.index);
  return out;
}

Result<ChunkFetch> decode_chunk_fetch(Bytes bytes) {
  if (bytes.size() != kFetchBytes) return fail(Errc::kProtocol, "a request for a chunk has a wrong length");
  wire::FixedReader reader(bytes);
  ChunkFetch fetch;
  fetch.id = reader.get<uint64_t>();
  fetch.index = reader.get<uint32_t>();
  return fetch;
}

void Chunks::drop_old(Instant now, Kept& kept, std::size_t& bytes) {
  for (auto at = kept.begin(); at != kept.end();) {
    if (at->second.until > now) {
      ++at;
      continue;
    }
    bytes -= at->second.size;
    at = kept.erase(at);
  }
}

void Chunks::drop(const void* connection, Kept& kept, std::size_t& bytes) {
  for (auto at = kept.lower_bound({connection, 0}); at != kept.end() && at->first.first == connection;) {
    bytes -= at->second.size;
    at = kept.erase(at);
  }
}

Status Chunks::make_room(Instant now, const Kept& where, const void* connection, uint64_t size) {
  drop_old(now, coming_, bytes_);
  drop_old(now, waiting_, bytes_);
  std::size_t own = 0;
  for (auto at = where.lower_bound({connection, 0}); at != where.end() && at->first.first == connection; ++at) ++own;
  if (own >= kMaxOfOne || bytes_ + size > kMaxBytes) {
    return fail(Errc::kExhausted, "too many large messages are in transfer");
  }
  return {};
}

Result<std::optional<std::string>> Chunks::add(Instant now, const void* connection, const Chunk& piece) {
  const Key key{connection, piece.id};
  auto at = coming_.find(key);
  if (at == coming_.end()) {
    if (piece.index != 0) return fail(Errc::kProtocol, "a chunked message does not start with its first chunk");
    BW_RETURN_IF_ERROR(make_room(now, coming_, connection, piece.size));
    at = coming_.emplace(key, Chunked{{}, piece.size, piece.type, now + kKept}).first;
    bytes_ += piece.size;
  }
  Chunked& chunked = at->second;
  const bool fits = chunked.size == piece.size && chunked.type == piece.type &&
                    chunked.bytes.size() == std::size_t{piece.index} * wire::kPieceBytes;
  if (!fits) {
    bytes_ -= chunked.size;
    coming_.erase(at);
    return fail(Errc::kProtocol, "the chunks of a message do not match");
  }
  chunked.bytes += as_text(piece.bytes);
  if (chunked.bytes.size() < chunked.size) return std::optional<std::string>();
  std::optional<std::string> whole(std::move(chunked.bytes));
  bytes_ -= chunked.size;
  coming_.erase(at);
  return whole;
}

Result<ChunkManifest> Chunks::keep(Instant now, const void* connection, std::string body) {
  if (body.size() > wire::kMaxBytesInPieces)
    return fail(Errc::kTooLarge, "the answer exceeds the limit of a chunked message");
  BW_RETURN_IF_ERROR(make_room(now, waiting_, connection, body.size()));
  const ChunkManifest manifest{++next_, body.size()};
  bytes_ += body.size();
  waiting_.emplace(Key{connection, manifest.id}, Chunked{std::move(body), manifest.size, 0, now + kKept});
  return manifest;
}

Result<std::string> Chunks::fetch(const void* connection, const ChunkFetch& fetch) {
  const auto at = waiting_.find({connection, fetch.id});
  if (at == waiting_.end() || fetch.index >= wire::pieces_of(at->second.size)) {
    return fail(Errc::kNotFound, "the chunked message no longer exists");
  }
  std::string piece(wire::piece_of(at->second.bytes, fetch.index));
  if (fetch.index + 1 == wire::pieces_of(at->second.size)) {
    bytes_ -= at->second.size;
    waiting_.erase(at);
  }
  return piece;
}

void Chunks::closed(const void* connection) {
  drop(connection, coming_, bytes_);
  drop(connection, waiting_, bytes_);
}

}  // namespace bellwether::cluster
