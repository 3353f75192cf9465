// What a worker and the child process of a share tell each other. In this order: an order and what came of preparing
// it; a begin, then seconds and counters; how it ended. To stop may be said at any time after the order, to save what
// was measured at any time after the begin.
//
// The two are on one machine and were started from one executable, so this may change with every version.
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

inline constexpr std::size_t kMostBundleBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMostShareThreads = 1024;
inline constexpr std::size_t kMostShareText = 16 << 10;  // of an error or a name; what is longer is cut

// --- to the child ----------------------------------------------------------------------------------------------------

// What to run: parts [first, first + count) of a workflow that was cut into `of`, a thread each.
struct ChildOrder {
  std::string bundle;  // what the plan is made from, in whatever form share_main() was given a maker for
  uint16_t workflow = 0;
  uint32_t first = 0;
  uint32_t count = 1;
  uint32_t of = 1;
  std::vector<int> cpus;                // processors to stay on, dealt to the threads in turn; empty: anywhere
  uint64_t seed = 0;                    // of the whole run
  std::vector<plan::Given> given = {};  // what the workflow uses of others
  std::vector<signature::PublicKey> trusted = {};  // who signs compiled programs that may run
  // That its parts may begin between them, of a workflow which counts them; none: as planned.
  std::optional<uint64_t> iterations = std::nullopt;
  // Users that the workflow is to have, in all its parts, where somebody says that while it runs.
  std::optional<uint32_t> vus = std::nullopt;
  bool operator==(const ChildOrder&) const = default;
};
// See vuser::Engine::run().
struct ChildBegin {
  Instant start;  // CLOCK_MONOTONIC
  Duration resume_at;
  bool operator==(const ChildBegin&) const = default;
};
struct ChildStop {
  bool graceful = true;  // iterations that run may finish, within the workflow's graceful_stop
  bool operator==(const ChildStop&) const = default;
};
// The workflow is to have so many users, in all its parts. At any time.
struct ChildScale {
  uint32_t vus = 0;
  bool operator==(const ChildScale&) const = default;
};
// Another share goes on from `at` of its clock, see vuser::Engine::hand_over(). After the begin.
struct ChildHandOver {
  Duration at;
  bool operator==(const ChildHandOver&) const = default;
};
// It may be killed soon: what it has measured is to be told now.
struct ChildSave {
  bool operator==(const ChildSave&) const = default;
};
using ToChild = std::variant<ChildOrder, ChildBegin, ChildStop, ChildHandOver, ChildSave, ChildScale>;

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
// The seconds of the clock that began at `start`, one after the other, none left out.
struct ChildSecond {
  uint64_t second = 0;
  Duration covered;    // how much of it the load has lived through
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
  enum class How : uint8_t { kCompleted, kStopped, kAborted, kTimedOut };
  How how = How::kCompleted;
  std::string step;                           // kAborted: the one that failed; kTimedOut: why, in words
  Duration elapsed;                           // from the start of the clock to the end
  std::vector<plan::Provided> provided = {};  // for other workflows
  std::vector<std::string> notes = {};        // see dispatch::ShareEnd
  std::vector<plan::Finding> findings = {};   // the same
  bool operator==(const ChildEnded&) const = default;
};
using FromChild = std::variant<ChildPrepared, ChildSecond, ChildCounters, ChildEnded>;

// --- as bytes: the payloads of frames (cluster/wire/frame.h)
// ------------------------------------------------------------

// Of one frame, either way: the largest bundle or window, and what stands around it.
inline constexpr std::size_t kMostShareFrame = (std::size_t{16} << 20) + (128 << 10);

}  // namespace bellwether::node

namespace bellwether::message {
template <>
const Message& message_of<node::ToChild>();
template <>
const Message& message_of<node::FromChild>();
}  // namespace bellwether::message

namespace bellwether::node {

std::string encode(const ToChild& message);
std::string encode(const FromChild& message);

// kProtocol for what is no such message, or has figures that cannot be. Windows are not looked into.
Result<ToChild> decode_to_child(std::string_view bytes);
Result<FromChild> decode_from_child(std::string_view bytes);

}  // namespace bellwether::node
