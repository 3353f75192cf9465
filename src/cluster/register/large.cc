#include "cluster/register/large.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/enum_names.h"

namespace bellwether::blobs {

bool is_blob_kind(std::string_view kind) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !kind.empty() && kind.size() <= kMaxKindBytes && std::all_of(kind.begin(), kind.end(), good);
}

Status check_key(const BlobKey& key) {
  if (key.job.empty() || key.job.size() > registers::kMaxKeyBytes) {
    return fail(Errc::kInvalid, "the key of a job must have 1 to {} bytes; this one has {}", registers::kMaxKeyBytes,
                key.job.size());
  }
  if (is_blob_kind(key.kind)) return {};
  return fail(Errc::kInvalid, "the kind of a blob must be 1 to 32 characters of a-z, 0-9 and '-', not '{}'",
              printable(key.kind.substr(0, kMaxKindBytes)));
}

std::string to_string(const BlobKey& key) {
  return fmt::format("'{}' of job '{}'", printable(key.kind), printable(key.job));
}

std::string to_string(const Version& version) {
  return fmt::format("{} under fence {}", version.number, version.fence.value());
}

bool fits(const BlobHead& head, std::size_t index, std::string_view piece) {
  return index < head.pieces.size() && piece.size() == wire::piece_bytes(head.size, index) &&
         wire::sha256(as_bytes(piece)) == head.pieces[index];
}

const char* to_string(Verdict verdict) {
  return EnumNames<Verdict>("kept", "wanted", "nothing", "newer", "fenced", "dropped", "busy", "unable",
                            "another set of replicas")[verdict];
}

}  // namespace bellwether::blobs
