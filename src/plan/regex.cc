#include "plan/regex.h"

#include <re2/re2.h>

namespace bellwether::plan {

Result<uint16_t> count_groups(std::string_view pattern) {
  constexpr std::size_t kPatternBytesMax = 4096;
  if (pattern.size() > kPatternBytesMax) return fail(Errc::kTooLarge, "a pattern has at most 4096 bytes");
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 compiled(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled.ok()) return fail(Errc::kInvalid, compiled.error());
  return static_cast<uint16_t>(compiled.NumberOfCapturingGroups());
}

}  // namespace bellwether::plan
