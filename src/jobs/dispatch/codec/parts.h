// Limits and parts that the messages about jobs share (core/message/describe.h). Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/message/describe.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/letters.h"
#include "jobs/dispatch/share.h"
#include "load/codec/window_codec.h"
#include "load/plan/context.h"
#include "load/plan/finding.h"

namespace bellwether::dispatch {

// Makes a text for people fit to send: without terminal control, at most kMostTextBytes, cut between two characters. A
// text that fits stays as it is.
std::string fit_text(std::string_view text);

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
  uint16_t workflow(uint32_t from);

  Duration span(int64_t ns);         // never negative
  WallTime moment(int64_t unix_ns);  // 0: not yet

  // One of `values` that are numbered from 0.
  template <class Value>
  Value one_of(uint32_t from, std::size_t values) {
    if (from < values) return static_cast<Value>(from);
    refuse("a state, phase or kind that does not exist");
    return Value();
  }
  // False: do not read them.
  bool fits(int number, std::size_t most) {
    const bool good = static_cast<std::size_t>(number) <= most;
    if (!good) refuse("more of something than there may be");
    return good;
  }

 private:
  const char* wrong_ = nullptr;
};

namespace rule {

// Limited, so that a next one always exists.
inline constexpr uint64_t kHighestFence = UINT64_MAX / 2;

inline constexpr message::Rule kJob = message::text(kMostIdBytes, "id of a job", &is_job_id, "abcXYZ019-_");
inline constexpr message::Rule kHash = message::text(kMostIdBytes, "hash of a bundle", &is_bundle_hash, "abcXYZ019-_");
inline constexpr message::Rule kNode = message::text(kMostIdBytes, "name of a node", &is_worker_name, "wW1.-_ ");
inline constexpr message::Rule kText = message::fitted(kMostTextBytes, &fit_text);
inline constexpr message::Rule kFence = message::between(uint64_t{1}, kHighestFence);  // of an owner
inline constexpr message::Rule kKnownFence = message::at_most(kHighestFence);          // 0: none is known
inline constexpr message::Rule kSecond = message::at_most(kMostSeconds);               // or a number of a stream
inline constexpr message::Rule kCount = message::at_most(account::kMostCount);
inline constexpr message::Rule kCores = message::at_most(kMostCores);
inline constexpr message::Rule kWorkflow = message::at_most(kMostWorkflows - 1);
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
inline constexpr std::string_view kShareTwice = "the same share twice";

inline std::string_view wrong_value(const plan::Provided& one) {
  return one.too_large && !one.text.empty() ? "a text that is too large, and yet there" : "";
}
inline std::string_view wrong_given(const plan::Given& one) {
  std::size_t bytes = 0;
  for (const std::string& text : one.list) bytes += text.size();
  if (bytes > plan::kMostListText) return "more bytes in a list than there may be";
  return one.list.empty() || one.text.empty() ? "" : "a text and a list";
}
inline std::string_view wrong_finding(const plan::Finding& one) {
  return plan::is_possible(one) ? "" : "figures of a strain that cannot be";
}
// A finding in a message is over.
inline void complete_finding(plan::Finding& one) { one.over = true; }

}  // namespace bellwether::dispatch

namespace bellwether::message {

template <>
inline constexpr auto kDescription<plan::Provided> = describe<plan::Provided, &dispatch::wrong_value>(
    "a value for other workflows", field<&plan::Provided::provide>(1, at_most(plan::kMostProvided - 1)),
    field<&plan::Provided::at>(2, dispatch::rule::kSpan), field<&plan::Provided::text>(3, text(plan::kMostContextText)),
    field<&plan::Provided::too_large>(4), field<&plan::Provided::vu>(5), field<&plan::Provided::listed>(6));

template <>
inline constexpr auto kDescription<plan::Given> = describe<plan::Given, &dispatch::wrong_given>(
    "a value of another workflow", field<&plan::Given::use>(1, at_most(plan::kMostProvided - 1)),
    field<&plan::Given::text>(2, text(plan::kMostContextText)),
    field<&plan::Given::list>(3, list(plan::kMostListValues, text(plan::kMostListText))));

template <>
inline constexpr auto kDescription<plan::Finding> =
    describe<plan::Finding, &dispatch::wrong_finding, &dispatch::complete_finding>(
        "what a generator noticed of itself", field<&plan::Finding::strain>(1, one_of(plan::kStrains)),
        field<&plan::Finding::begin>(2, at_most(Duration::hours(24 * 366))),
        field<&plan::Finding::end>(3, at_most(Duration::hours(24 * 366))),
        field<&plan::Finding::worst>(4, at_most(1e9)));

template <>
inline constexpr auto kDescription<dispatch::ShareEnd> = describe<dispatch::ShareEnd>(
    "the end of a share", field<&dispatch::ShareEnd::outcome>(1, one_of(dispatch::kShareOutcomes)),
    field<&dispatch::ShareEnd::detail>(2, dispatch::rule::kText),
    field<&dispatch::ShareEnd::last_number>(3, dispatch::rule::kSecond),
    // An assignment that ended before its clock began has run for zero time.
    field<&dispatch::ShareEnd::ran>(4, clamped(dispatch::rule::kSpan)),
    field<&dispatch::ShareEnd::provided>(5, list(plan::kMostTold)),
    field<&dispatch::ShareEnd::notes>(6, list(dispatch::kMostNotes, dispatch::rule::kText)),
    field<&dispatch::ShareEnd::findings>(7, list(plan::kMostFindings)));

template <>
inline constexpr auto kDescription<dispatch::BundleLetter> =
    describe<dispatch::BundleLetter>("a bundle", field<&dispatch::BundleLetter::job>(1, dispatch::rule::kJob),
                                     field<&dispatch::BundleLetter::hash>(2, dispatch::rule::kHash),
                                     field<&dispatch::BundleLetter::bytes>(3, text(dispatch::kMostBundleBytes)));

}  // namespace bellwether::message
