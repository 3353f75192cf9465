#include "jobs/dispatch/assignment.h"

#include <algorithm>
#include <numeric>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/enum_names.h"

namespace bellwether::dispatch {
namespace {

bool is_id(std::string_view text) { return is_word_of(text, "-_", kMaxIdBytes); }

}  // namespace

bool is_job_id(std::string_view text) { return is_id(text); }
bool is_bundle_hash(std::string_view text) { return is_id(text); }
bool is_worker_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && printable(text) == text;
}

std::vector<uint32_t> parts_of(const PartRange& range) {
  std::vector<uint32_t> parts(range.count);
  std::iota(parts.begin(), parts.end(), range.first);
  return parts;
}

std::string_view to_string(AssignmentOutcome outcome) {
  return EnumNames<AssignmentOutcome>("completed", "stopped", "aborted", "failed", "crashed", "killed", "isolated",
                                      "overtime", "left", "timed out", "evicted", "lost")[outcome];
}
std::string_view to_string(AssignmentPhase phase) {
  return EnumNames<AssignmentPhase>("preparing", "ready", "running", "ended")[phase];
}

Duration reading_time(const std::vector<FileRef>& files) {
  constexpr uint64_t kBytesASecond = 50 << 20;
  uint64_t bytes = 0;
  for (const FileRef& file : files) bytes += std::min(file.size, uint64_t{1} << 40);
  return Duration::seconds(static_cast<int64_t>(bytes / kBytesASecond));
}

}  // namespace bellwether::dispatch
