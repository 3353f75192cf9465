#include "dispatch/codec/field_reader.h"

#include <utility>

#include "base/printable.h"
#include "dispatch/job_sheet.h"
#include "dispatch/letters.h"

namespace bellwether::dispatch {
namespace {

// So that there is always a next one.
constexpr uint64_t kHighestFence = UINT64_MAX / 2;
// A count beyond this is a lie or an accident.
constexpr uint64_t kMostCount = uint64_t{1} << 40;

bool is_inside_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string fit_text(std::string_view text) {
  // More than this is not looked at: making it printable makes it at most half as long.
  std::string out = printable(text.substr(0, kMostTextBytes * 2 + 2));
  if (out.size() <= kMostTextBytes) return out;
  std::size_t end = kMostTextBytes;
  for (int i = 0; i < 3 && is_inside_letter(out[end]); ++i) --end;
  out.resize(end);
  return out;
}

std::string FieldReader::job(const std::string& from) {
  if (is_job_id(from)) return from;
  refuse("an id of a job that is none");
  return {};
}

std::string FieldReader::hash(const std::string& from) {
  if (is_bundle_hash(from)) return from;
  refuse("a hash of a bundle that is none");
  return {};
}

std::string FieldReader::node(const std::string& from) {
  if (is_worker_name(from)) return from;
  refuse("a name that is none");
  return {};
}

std::string FieldReader::bulk(std::string* from, std::size_t most) {
  if (from->size() <= most) return std::move(*from);
  refuse("more bytes than there may be");
  return {};
}

ShareId FieldReader::share(uint32_t from) {
  if (from == 0) refuse("no share");
  return ShareId(from);
}

JobFence FieldReader::fence(uint64_t from) {
  if (from == 0) refuse("no fence");
  return known_fence(from);
}

JobFence FieldReader::known_fence(uint64_t from) {
  if (from <= kHighestFence) return JobFence(from);
  refuse("a fence that cannot be");
  return {};
}

uint64_t FieldReader::second(uint64_t from) {
  if (from <= kMostSeconds) return from;
  refuse("a second that cannot be");
  return 0;
}

uint64_t FieldReader::count(uint64_t from) {
  if (from <= kMostCount) return from;
  refuse("a count that cannot be");
  return 0;
}

uint32_t FieldReader::cores(uint32_t from) {
  if (from <= kMostCores) return from;
  refuse("more cores than there may be");
  return 0;
}

uint16_t FieldReader::workflow(uint32_t from) {
  if (from < kMostWorkflows) return static_cast<uint16_t>(from);
  refuse("a workflow that cannot be");
  return 0;
}

Duration FieldReader::span(int64_t ns) {
  if (ns >= 0 && ns <= kLongestSpan.ns()) return Duration::nanos(ns);
  refuse("a span that cannot be");
  return {};
}

Duration FieldReader::clock(int64_t ns) {
  if (ns >= -kLongestSpan.ns() && ns <= kLongestSpan.ns()) return Duration::nanos(ns);
  refuse("a clock that cannot be");
  return {};
}

WallTime FieldReader::moment(int64_t unix_ns) {
  if (unix_ns >= 0 && unix_ns <= kLatestTime.unix_ns) return WallTime{unix_ns};
  refuse("a time that cannot be");
  return {};
}

}  // namespace bellwether::dispatch
