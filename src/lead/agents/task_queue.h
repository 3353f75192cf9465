// The work of a fleet as its queue file has it: tasks with growing numbers, a cursor before which all are done, and the
// fence that keeps a task from being done twice. Pure: text in, text out.
//
// Only the leader hands tasks out, under its epoch. A new leader's first act is take_over(), which raises the fence:
// what was being worked on under older epochs is waiting again, and its results are refused from then on. So of all
// results of a task exactly one is accepted: that of the agent, epoch and attempt under which it was handed out last.
// What an agent does to the outside under its grant is guarded by the same three (election/fence_guard.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "election/epoch.h"

namespace bellwether::lead {

struct QueuedTask {
  enum class State : unsigned char { kWaiting, kRunning, kDone };
  uint64_t number = 0;
  std::string name;  // chosen by whoever adds it, so that adding it again adds nothing
  std::string payload;
  State state = State::kWaiting;
  std::string agent;      // kRunning, kDone
  election::Epoch epoch;  // under which it was handed out last
  uint32_t attempt = 0;   // how often it was handed out
  bool operator==(const QueuedTask&) const = default;
};

// What an agent gets, and must show with its result.
struct Grant {
  uint64_t number = 0;
  std::string agent;
  election::Epoch epoch;
  uint32_t attempt = 0;
};

class TaskQueue {
 public:
  static constexpr std::size_t kMost = 10'000;  // tasks from the cursor on
  static constexpr std::size_t kNameBytesMax = 200;
  static constexpr std::size_t kPayloadBytesMax = 16u << 10;
  static constexpr std::size_t kNamesRemembered = 1000;  // of tasks before the cursor

  // Error: kProtocol when the text is no queue. Empty text is an empty queue.
  static Result<TaskQueue> parse(std::string_view text);
  std::string to_json() const;

  // Gives the task's number; that of the earlier one when a task of this name is remembered. kExhausted when full.
  Result<uint64_t> add(const std::string& name, const std::string& payload);
  // The number of tasks that wait again. kRefused under an epoch older than the fence.
  Result<std::size_t> take_over(election::Epoch epoch);
  // The first waiting task, or nothing. kRefused unless `epoch` is that of the leader that took over last.
  Result<std::optional<Grant>> hand_out(const std::string& agent, election::Epoch epoch);
  // kRefused when the task was handed out again or taken over since; kExists when this very result came before.
  Status finish(const Grant& grant);
  // The running tasks of all but these agents wait again: of the silent, and of those that are forgotten already.
  // kRefused as above.
  Result<std::size_t> hand_back(const std::vector<std::string>& living, election::Epoch epoch);

  election::Epoch fence() const { return fence_; }
  uint64_t cursor() const { return cursor_; }  // all tasks before it are done
  const std::deque<QueuedTask>& tasks() const { return tasks_; }
  const QueuedTask* find(uint64_t number) const;

 private:
  Status in_office(election::Epoch epoch) const;
  void advance();

  election::Epoch fence_;
  uint64_t cursor_ = 1;
  std::deque<QueuedTask> tasks_;  // numbers cursor_, cursor_ + 1, …
  std::deque<QueuedTask> past_;   // the last before the cursor, without payload
};

}  // namespace bellwether::lead
