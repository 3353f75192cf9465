#include "cluster/register/large.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/enum_names.h"

namespace bellwether::copies {

bool is_copy_kind(std::string_view kind) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !kind.empty() && kind.size() <= kMostKindBytes && std::all_of(kind.begin(), kind.end(), good);
}

Status check_key(const CopyKey& key) {
  if (key.job.empty() || key.job.size() > registers::kMostKeyBytes) {
    return fail(Errc::kInvalid, "the key of a job has 1 to {} bytes, and this one {}", registers::kMostKeyBytes,
                key.job.size());
  }
  if (is_copy_kind(key.kind)) return {};
  return fail(Errc::kInvalid, "the kind of a copy is 1 to 32 of a-z, 0-9 and '-', and not '{}'",
              printable(key.kind.substr(0, kMostKindBytes)));
}

std::string to_string(const CopyKey& key) {
  return fmt::format("'{}' of job '{}'", printable(key.kind), printable(key.job));
}

std::string to_string(const Version& version) {
  return fmt::format("{} under fence {}", version.number, version.fence.value());
}

bool fits(const CopyHead& head, std::size_t index, std::string_view piece) {
  return index < head.pieces.size() && piece.size() == wire::piece_bytes(head.size, index) &&
         wire::sha256(as_bytes(piece)) == head.pieces[index];
}

const char* to_string(Verdict verdict) {
  static constexpr EnumNames<Verdict> kNames("kept", "wanted", "nothing", "newer", "fenced", "dropped", "busy",
                                             "unable");
  return kNames[verdict];
}

}  // namespace bellwether::copies
