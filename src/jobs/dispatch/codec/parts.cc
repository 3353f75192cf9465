#include "jobs/dispatch/codec/parts.h"

#include "core/base/encoding.h"
#include "jobs/dispatch/assignment.h"
#include "jobs/dispatch/job_record.h"

namespace bellwether::dispatch {
namespace {

bool is_inside_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string fit_text(std::string_view text) {
  // The rest is ignored: printable() makes a text at most half as long.
  std::string out = printable(text.substr(0, kMaxTextBytes * 2 + 2));
  if (out.size() <= kMaxTextBytes) return out;
  std::size_t end = kMaxTextBytes;
  for (int i = 0; i < 3 && is_inside_letter(out[end]); ++i) --end;
  out.resize(end);
  return out;
}

uint16_t FieldReader::workflow(uint32_t from) {
  if (from < kMaxWorkflows) return static_cast<uint16_t>(from);
  refuse("an impossible workflow");
  return 0;
}

Duration FieldReader::span(int64_t ns) {
  if (ns >= 0 && ns <= kLongestSpan.ns()) return Duration::nanos(ns);
  refuse("an impossible duration");
  return {};
}

WallTime FieldReader::moment(int64_t unix_ns) {
  if (unix_ns >= 0 && unix_ns <= kLatestTime.unix_ns) return WallTime{unix_ns};
  refuse("an impossible time");
  return {};
}

}  // namespace bellwether::dispatch
