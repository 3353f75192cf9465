// The messages between a worker and the child process of an assignment. Their order: an order, and the result of
// preparing it; a begin, then seconds and counters; the end. A stop may come at any time after the order, a save at any
// time after the begin.
//
// Both processes run on one machine from one executable, so the messages may change with every version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/message/message.h"
#include "core/signature/keys.h"
#include "load/plan/context.h"
#include "load/plan/finding.h"
#include "load/vuser/engine.h"

namespace bellwether::node {

inline constexpr std::size_t kMaxBundleBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxAssignmentThreads = 1024;
inline constexpr std::size_t kMaxAssignmentText = 16 << 10;  // of an error or a name; longer ones are cut

// --- to the child ----------------------------------------------------------------------------------------------------

// A data file beside the bundle, on the disk of the worker.
struct ChildFile {
  std::string sha256;
  std::string path;
  bool operator==(const ChildFile&) const = default;
};
inline constexpr std::size_t kMaxChildFiles = 200;
// Parts [first, first + count) of a workflow that was cut into `of`, with one thread each.
struct ChildOrder {
  std::string bundle;  // the inputs of the plan, in the form that the PlanOf of assignment_main() reads
  uint16_t workflow = 0;
  uint32_t first = 0;
  uint32_t count = 1;
  uint32_t of = 1;
  std::vector<int> cpus;                           // processors for the threads, in turn; empty: all
  uint64_t seed = 0;                               // of the whole run
  std::vector<plan::Given> given = {};             // values of other workflows that this one uses
  std::vector<signature::PublicKey> trusted = {};  // keys that may sign compiled programs
  // That its parts may begin together, of a workflow which counts them; none: as planned.
  std::optional<uint64_t> iterations = std::nullopt;
  // Users that the workflow is to have in all its parts, if it is externally controlled.
  std::optional<uint32_t> vus = std::nullopt;
  std::vector<ChildFile> files = {};
  bool operator==(const ChildOrder&) const = default;
};
// See vuser::Engine::run().
struct ChildBegin {
  Instant start;  // CLOCK_MONOTONIC
  Duration resume_at;
  plan::RowPoint rows = {};
  bool operator==(const ChildBegin&) const = default;
};
struct ChildStop {
  bool graceful = true;  // running iterations may finish, within the workflow's graceful_stop
  bool operator==(const ChildStop&) const = default;
};
// The new number of users of the workflow, in all its parts. At any time.
struct ChildScale {
  uint32_t vus = 0;
  bool operator==(const ChildScale&) const = default;
};
// Another assignment takes over at `at` of its clock, see vuser::Engine::hand_over(). After the begin.
struct ChildHandOver {
  Duration at;
  bool operator==(const ChildHandOver&) const = default;
};
// It may be killed soon: report all that it has measured now.
struct ChildSave {
  bool operator==(const ChildSave&) const = default;
};
// The owner of its job has all seconds before this one. After the begin.
struct ChildApplied {
  uint64_t seconds = 0;
  bool operator==(const ChildApplied&) const = default;
};
using ToChild = std::variant<ChildOrder, ChildBegin, ChildStop, ChildHandOver, ChildSave, ChildScale, ChildApplied>;

// --- from the child --------------------------------------------------------------------------------------------------

struct ChildPrepared {
  Errc code = Errc::kOk;  // kOk: it can begin
  std::string error;
  static ChildPrepared of(const Status& status) {
    return status ? ChildPrepared{} : ChildPrepared{status.error().code, status.error().message};
  }
  Status status() const { return code == Errc::kOk ? Status() : fail(code, error); }
  bool operator==(const ChildPrepared&) const = default;
};
// The seconds of the clock that began at `start`, in order, without a gap.
struct ChildSecond {
  uint64_t second = 0;
  Duration covered;    // the part of it in which the load ran
  std::string window;  // load/codec/window_codec.h
  bool operator==(const ChildSecond&) const = default;
};
// Since the begin. The newest wins.
struct ChildCounters {
  vuser::Tally tally;
  uint32_t loops = 0;  // that make load now
  vuser::Headway headway = {};
  bool operator==(const ChildCounters&) const = default;
};
struct ChildEnded {
  enum class How : uint8_t { kCompleted, kStopped, kAborted, kTimedOut, kFenced };
  How how = How::kCompleted;
  std::string step;                           // kAborted: the one that failed; kTimedOut: the reason, in words
  Duration elapsed;                           // from the start of the clock to the end
  std::vector<plan::Provided> provided = {};  // for other workflows
  std::vector<std::string> notes = {};        // see dispatch::AssignmentEnd
  std::vector<plan::Finding> findings = {};   // the same
  bool operator==(const ChildEnded&) const = default;
};
using FromChild = std::variant<ChildPrepared, ChildSecond, ChildCounters, ChildEnded>;

// --- as bytes: the payloads of frames (cluster/wire/frame.h) ---------------------------------------------------------

// Of one frame, either way: the largest bundle or window, and its envelope.
inline constexpr std::size_t kMaxAssignmentFrame = (std::size_t{16} << 20) + (128 << 10);

}  // namespace bellwether::node

namespace bellwether::message {
extern template const Message& message_of<node::ToChild>();
extern template const Message& message_of<node::FromChild>();
}  // namespace bellwether::message

namespace bellwether::node {

std::string encode(const ToChild& message);
std::string encode(const FromChild& message);

// kProtocol: no such message, or figures out of bounds. Windows are unchecked.
Result<ToChild> decode_to_child(std::string_view bytes);
Result<FromChild> decode_from_child(std::string_view bytes);

}  // namespace bellwether::node
