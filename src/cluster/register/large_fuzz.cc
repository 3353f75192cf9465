// Bytes as requests about blobs: the voters that keep blobs take everything that decodes without harm. Another encoding
// of it is tested, as for answers and records, in src/sim/datacenter/messages_fuzz.cc.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cluster/register/blob_store.h"
#include "cluster/register/codec.h"
#include "core/base/check.h"

namespace bellwether::blobs {
namespace {

// A disk that is done at once, and now and then says that it failed.
class BlobStore {
 public:
  void take(const Question& question, bool disk_works) {
    now_ += Duration::seconds(7);
    for (int i = 0; i < 4; ++i) {
      const Decision next = store_.decide(now_, question);
      if (std::holds_alternative<Answer>(next) || std::holds_alternative<ReadPiece>(next)) break;
      if (const auto* commit = std::get_if<Commit>(&next)) {
        const auto again = message::decode<BlobRecord>(message::encode(commit->record));
        check(again.has_value() && *again == commit->record, "whatever is kept can be read again");
      }
      store_.written(next, disk_works);
      if (!disk_works) break;
    }
    for (const Decision& one : store_.expire(now_)) store_.written(one, disk_works);
    check(store_.bytes() <= kMaxBytes, "it has no more than it may have");
  }

 private:
  static constexpr std::size_t kMaxBytes = 4 * kPieceBytes;
  Instant now_ = Instant::from_ns(1);
  BlobStore store_{{.most_bytes = kMaxBytes, .most_values = 3, .most_jobs = 2, .most_uploads = 2}};
};

}  // namespace
}  // namespace bellwether::blobs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::blobs;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  // Questions one after the other, each with its length before it, and whether the disk works.
  BlobStore store;
  while (rest.size() >= 2) {
    const std::size_t length = std::min<std::size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 2);
    const bool disk_works = rest[1] != 0;
    const auto asked = message::decode<Asked>(rest.substr(2, length));
    rest.remove_prefix(2 + length);
    if (!asked) continue;
    store.take(asked->question, disk_works);
  }
  return 0;
}
