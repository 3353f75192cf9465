// Limits and parts that the messages about jobs share (core/message/describe.h). Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/time.h"
#include "core/message/describe.h"
#include "jobs/dispatch/assignment.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/job_record.h"
#include "jobs/dispatch/messages.h"
#include "load/codec/window_codec.h"
#include "load/plan/context.h"
#include "load/plan/finding.h"

namespace bellwether::dispatch {

// Makes a text for people fit to send: without terminal control, at most kMaxTextBytes, cut between two characters. A
// text that fits stays as it is.
inline std::string fit_text(std::string_view text) {
  // The rest is ignored: printable() makes a text at most half as long.
  std::string out = printable(text.substr(0, kMaxTextBytes * 2 + 2));
  if (out.size() <= kMaxTextBytes) return out;
  const auto is_inside_letter = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  std::size_t end = kMaxTextBytes;
  for (int i = 0; i < 3 && is_inside_letter(out[end]); ++i) --end;
  out.resize(end);
  return out;
}

// Reads untrusted values within their bounds. It goes on after a wrong value and remembers the first one: the caller
// checks once, at the end.
class FieldReader {
 public:
  // The first fault; null if all is well.
  const char* wrong() const { return wrong_; }
  void refuse(const char* why) {
    if (wrong_ == nullptr) wrong_ = why;
  }

  std::string text(const std::string& from) { return fit_text(from); }
  uint16_t workflow(uint32_t from) {
    if (from < kMaxWorkflows) return static_cast<uint16_t>(from);
    refuse("an impossible workflow");
    return 0;
  }
  // Never negative.
  Duration span(int64_t ns) {
    if (ns >= 0 && ns <= kLongestSpan.ns()) return Duration::nanos(ns);
    refuse("an impossible duration");
    return {};
  }
  // 0: not yet.
  WallTime moment(int64_t unix_ns) {
    if (unix_ns >= 0 && unix_ns <= kLatestTime.unix_ns) return WallTime{unix_ns};
    refuse("an impossible time");
    return {};
  }

  // One of `values` that are numbered from 0.
  template <class Value>
  Value one_of(uint32_t from, std::size_t values) {
    if (from < values) return static_cast<Value>(from);
    refuse("an unknown state, phase or kind");
    return Value();
  }
  // False: do not read them.
  bool fits(int number, std::size_t most) {
    const bool good = static_cast<std::size_t>(number) <= most;
    if (!good) refuse("a count above its limit");
    return good;
  }

 private:
  const char* wrong_ = nullptr;
};

namespace rule {

// Limited, so that a next one always exists.
inline constexpr uint64_t kHighestFence = UINT64_MAX / 2;

inline constexpr message::Rule kJob = message::text(kMaxIdBytes, "id of a job", &is_job_id, "abcXYZ019-_");
inline constexpr message::Rule kHash = message::text(kMaxIdBytes, "hash of a bundle", &is_bundle_hash, "abcXYZ019-_");
inline constexpr message::Rule kFileHash =
    message::text(kMaxIdBytes, "hash of a file", &is_bundle_hash, "0123456789abcdef");
inline constexpr message::Rule kNode = message::text(kMaxIdBytes, "name of a node", &is_worker_name, "wW1.-_ ");
inline constexpr message::Rule kText = message::fitted(kMaxTextBytes, &fit_text);
inline constexpr message::Rule kFence = message::between(uint64_t{1}, kHighestFence);  // of an owner
inline constexpr message::Rule kKnownFence = message::at_most(kHighestFence);          // 0: none is known
inline constexpr message::Rule kSecond = message::at_most(kMaxSeconds);                // or a number of a stream
inline constexpr message::Rule kCount = message::at_most(ingest::kMaxCount);
inline constexpr message::Rule kCores = message::at_most(kMaxCores);
inline constexpr message::Rule kWorkflow = message::at_most(kMaxWorkflows - 1);
inline constexpr message::Rule kSpan = message::at_most(kLongestSpan);
inline constexpr message::Rule kSomeSpan = message::between(Duration::nanos(1), kLongestSpan);
inline constexpr message::Rule kClock = message::zigzag(message::between(-kLongestSpan, kLongestSpan));
inline constexpr message::Rule kTime = message::at_most(kLatestTime);  // 0: not yet

}  // namespace rule

// No two elements have the same key.
template <class List, class Key>
bool are_distinct(const List& list, Key key) {
  std::vector<decltype(key(list[0]))> keys;
  keys.reserve(list.size());
  for (const auto& one : list) keys.push_back(key(one));
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
}
inline constexpr std::string_view kAssignmentTwice = "the same assignment twice";

inline std::string_view wrong_value(const plan::Provided& one) {
  return one.too_large && !one.text.empty() ? "a text together with the mark that it is too large" : "";
}
inline std::string_view wrong_given(const plan::Given& one) {
  std::size_t bytes = 0;
  for (const std::string& text : one.list) bytes += text.size();
  if (bytes > plan::kMaxListText) return "a list with too many bytes";
  return one.list.empty() || one.text.empty() ? "" : "a text and a list";
}
inline std::string_view wrong_finding(const plan::Finding& one) {
  return plan::is_possible(one) ? "" : "impossible figures of a saturation";
}
// A finding in a message is over.
inline void complete_finding(plan::Finding& one) { one.over = true; }

}  // namespace bellwether::dispatch

namespace bellwether::message {

template <>
inline constexpr auto kDescription<plan::Provided> = describe<plan::Provided, &dispatch::wrong_value>(
    "a value for other workflows", field<&plan::Provided::provide>(1, at_most(plan::kMaxProvided - 1)),
    field<&plan::Provided::at>(2, dispatch::rule::kSpan), field<&plan::Provided::text>(3, text(plan::kMaxContextText)),
    field<&plan::Provided::too_large>(4), field<&plan::Provided::vu>(5), field<&plan::Provided::listed>(6));

template <>
inline constexpr auto kDescription<plan::Given> = describe<plan::Given, &dispatch::wrong_given>(
    "a value of another workflow", field<&plan::Given::use>(1, at_most(plan::kMaxProvided - 1)),
    field<&plan::Given::text>(2, text(plan::kMaxContextText)),
    field<&plan::Given::list>(3, list(plan::kMaxListValues, text(plan::kMaxListText))));

template <>
inline constexpr auto kDescription<plan::Finding> =
    describe<plan::Finding, &dispatch::wrong_finding, &dispatch::complete_finding>(
        "a finding of a generator", field<&plan::Finding::saturation>(1, one_of(plan::kSaturations)),
        field<&plan::Finding::begin>(2, at_most(Duration::hours(24 * 366))),
        field<&plan::Finding::end>(3, at_most(Duration::hours(24 * 366))),
        field<&plan::Finding::worst>(4, at_most(1e9)));

template <>
inline constexpr auto kDescription<dispatch::AssignmentEnd> = describe<dispatch::AssignmentEnd>(
    "the end of an assignment", field<&dispatch::AssignmentEnd::outcome>(1, one_of(dispatch::kAssignmentOutcomes)),
    field<&dispatch::AssignmentEnd::detail>(2, dispatch::rule::kText),
    field<&dispatch::AssignmentEnd::last_number>(3, dispatch::rule::kSecond),
    // An assignment that ended before its clock began has run for zero time.
    field<&dispatch::AssignmentEnd::ran>(4, clamped(dispatch::rule::kSpan)),
    field<&dispatch::AssignmentEnd::provided>(5, list(plan::kMaxTold)),
    field<&dispatch::AssignmentEnd::notes>(6, list(dispatch::kMaxNotes, dispatch::rule::kText)),
    field<&dispatch::AssignmentEnd::findings>(7, list(plan::kMaxFindings)));

template <>
inline constexpr auto kDescription<dispatch::Witness> =
    describe<dispatch::Witness>("a witness of a job", field<&dispatch::Witness::worker>(1, dispatch::rule::kNode),
                                field<&dispatch::Witness::life>(2, fixed(kSome)));

template <>
inline constexpr auto kDescription<FileRef> =
    describe<FileRef>("a file", field<&FileRef::sha256>(1, dispatch::rule::kFileHash),
                      field<&FileRef::size>(2, between(uint64_t{1}, dispatch::kMaxBytesBeside)));

template <>
inline constexpr auto kDescription<dispatch::BundleMessage> =
    describe<dispatch::BundleMessage>("a bundle", field<&dispatch::BundleMessage::job>(1, dispatch::rule::kJob),
                                      field<&dispatch::BundleMessage::hash>(2, dispatch::rule::kHash),
                                      field<&dispatch::BundleMessage::bytes>(3, text(dispatch::kMaxBundleBytes)));

}  // namespace bellwether::message
