// Requests and answers that are larger than a message may be (cluster/wire/session.h): in chunks, each a separate
// request, over one connection. Senders cut and receivers assemble; the code between them sees a request and its
// answer.
//
//   a request    kChunk × n; the answer to the last one is the answer to the whole
//   an answer    status kChunked, with a number and the size; then kChunkFetch × n by the node that asked
//
// An incomplete request, or an answer that is not fetched, is dropped with its connection, and when a minute has
// passed. The bytes of a chunk are its numbers, big-endian, and its data. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cluster/wire/pieces.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::cluster {

// Too large for a message even if it does not compress.
constexpr bool needs_chunks(std::size_t bytes) { return bytes > wire::kPieceBytes; }

struct Chunk {
  uint64_t id = 0;    // of the whole message: from its sender, unique in the connection
  uint64_t size = 0;  // of the whole message, in bytes
  uint32_t index = 0;
  uint16_t type = 0;  // of the whole message
  Bytes bytes;
};
std::string encode(const Chunk& piece);
// kProtocol: no such bytes, or inconsistent numbers.
Result<Chunk> decode_chunk(Bytes bytes);

// Announces an answer in chunks, which the asking node fetches one by one with ChunkFetch.
struct ChunkManifest {
  uint64_t id = 0;
  uint64_t size = 0;
};
std::string encode(const ChunkManifest& manifest);
Result<ChunkManifest> decode_chunk_manifest(Bytes bytes);
struct ChunkFetch {
  uint64_t id = 0;
  uint32_t index = 0;
};
std::string encode(const ChunkFetch& fetch);
Result<ChunkFetch> decode_chunk_fetch(Bytes bytes);

class Chunks {
 public:
  // Of all messages of all connections together; add() and keep() refuse more.
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
  static constexpr std::size_t kMaxOfOne = 16;  // messages each way of one connection
  static constexpr Duration kKept = Duration::minutes(1);

  // Adds a chunk that arrived on `connection`. Returns the whole message with its last chunk, before that nullopt.
  // Errors: kProtocol if chunks are out of order or contradict each other; kExhausted beyond the limits above.
  Result<std::optional<std::string>> add(Instant now, const void* connection, const Chunk& piece);
  // Keeps an answer until the node that asked on this connection has fetched it. Errors: kTooLarge, kExhausted.
  Result<ChunkManifest> keep(Instant now, const void* connection, std::string body);
  // A chunk of such an answer. The last one ends the keeping. Error: kNotFound.
  Result<std::string> fetch(const void* connection, const ChunkFetch& fetch);
  // Drops everything of this connection. Call it when a connection has ended.
  void closed(const void* connection);

 private:
  struct Chunked {
    std::string bytes;
    uint64_t size = 0;
    uint16_t type = 0;
    Instant until;
  };
  using Key = std::pair<const void*, uint64_t>;
  using Kept = std::map<Key, Chunked>;

  Status make_room(Instant now, const Kept& where, const void* connection, uint64_t size);
  static void drop_old(Instant now, Kept& kept, std::size_t& bytes);
  static void drop(const void* connection, Kept& kept, std::size_t& bytes);

  Kept coming_;
  Kept waiting_;  // to be fetched
  std::size_t bytes_ = 0;
  uint64_t next_ = 0;
};

}  // namespace bellwether::cluster
