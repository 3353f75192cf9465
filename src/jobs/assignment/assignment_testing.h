// The common parts of the tests of assignments. The test program itself runs them as further processes.
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/runtime/stream_testing.h"
#include "jobs/assignment/assignment_process.h"
#include "load/codec/window_codec.h"
#include "load/plan/load_testing.h"

namespace bellwether::node {

// A bundle in these tests is the text of a scenario, or the fault of the child.
inline constexpr std::string_view kSayGarbage = "say garbage";
inline constexpr std::string_view kSayTooEarly = "say a second too early";
inline constexpr std::string_view kLeaveOut = "leave out a second";
inline constexpr std::string_view kExit = "exit";
inline constexpr std::string_view kLeaveBehind = "leave a process behind";  // its error is that process's number

inline Result<plan::Plan> plan_of_text(std::string_view text) {
  plan::TestSources sources{std::string(text)};
  auto plan = sources.load();
  if (!plan) return fail(Errc::kInvalid, scenario::format(plan.error().front()));
  return std::move(*plan);
}

// Records all reports of an assignment.
class Heard final {
 public:
  void on_prepared(Status status) {
    check(!prepared && !end, "it is said once");
    prepared = std::move(status);
  }
  void on_second(uint64_t second, std::string window, Duration covered) {
    check(prepared && *prepared && !end, "it has begun");
    seconds.push_back({second, covered, std::move(window)});
  }
  void on_counters(const ChildCounters& now) {
    counters.push_back(now.tally);
    last = now;
  }
  void on_ended(const AssignmentEnd& how) {
    check(!end, "it ends once");
    end = how;
  }
  AssignmentProcess::Listener listener() {
    return {callback_to<&Heard::on_prepared>(*this), callback_to<&Heard::on_second>(*this),
            callback_to<&Heard::on_counters>(*this), callback_to<&Heard::on_ended>(*this)};
  }

  std::optional<Status> prepared;
  std::vector<ChildSecond> seconds;
  std::vector<vuser::Tally> counters;
  ChildCounters last;
  std::optional<AssignmentEnd> end;
};

// The names of a process's threads, and the processors that each may use.
inline std::map<std::string, std::string> threads_of(int64_t pid, const std::vector<std::string>& numbers) {
  std::map<std::string, std::string> threads;
  for (const std::string& number : numbers) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/task/" + number + "/status");
    std::string name;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:")) name = line.substr(6);
      if (line.starts_with("Cpus_allowed_list:")) threads[name] = line.substr(19);
    }
  }
  return threads;
}

// Lets the loop run until a condition holds.
template <class Holds>
runtime::task<void> until(runtime::Runtime* runtime, Holds holds) {
  while (!holds()) co_await runtime->sleep(Duration::millis(1));
}

}  // namespace bellwether::node
