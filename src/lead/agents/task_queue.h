// The work of a fleet as in its queue file: tasks with growing numbers, a cursor before which all tasks are done, and
// the fence that keeps a task from being done twice. Pure: text in, text out.
//
// Only the leader hands tasks out, under its epoch. A new leader's first act is take_over(), which raises the fence:
// tasks under older epochs wait again, and the queue refuses their results from then on. So it accepts exactly one
// result of a task: that of the agent, epoch and attempt of the last hand-out. The same three guard an agent's acts on
// the outside under its grant (election/epoch.h).
//
// A task that was begun too often is put aside as failed. The queue goes on, and an operator lets the task wait again
// or drops it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "election/epoch.h"

namespace bellwether::lead {

struct QueuedTask {
  enum class State : unsigned char { kWaiting, kRunning, kDone, kFailed, kDropped };
  uint64_t number = 0;
  std::string name;  // chosen by the client that adds it; adding it again adds nothing
  std::string payload;
  State state = State::kWaiting;
  std::string agent;      // that had it last
  election::Epoch epoch;  // under which it was handed out last
  uint32_t attempt = 0;   // how often it was handed out
  uint32_t tries = 0;     // the tries that count against the limit: not those that ended in good order
  std::string outcome;    // of the last attempt that did not succeed, in words
  bool operator==(const QueuedTask&) const = default;
};
std::string_view to_string(QueuedTask::State state);

// A handed-out task. The agent shows all but the payload with its result: a queue that was begun anew gives numbers out
// again.
struct Grant {
  uint64_t number = 0;
  std::string agent;
  election::Epoch epoch;
  uint32_t attempt = 0;
  std::string name;
  std::string payload;
};

struct HandOutRules {
  std::vector<uint64_t> resting;  // numbers of tasks that are not to be begun yet
  uint32_t tries_most = UINT32_MAX;
  // The numbers of all tasks that the agent works on. Given, a task that runs under its name and epoch and is not among
  // these goes first: the answer that handed it out, or the word that gave it back, was lost.
  std::optional<std::vector<uint64_t>> in_hands;
};

class TaskQueue {
 public:
  static constexpr std::size_t kMaxTasks = 10'000;  // tasks that are not done
  static constexpr std::size_t kMaxNameBytes = 200;
  static constexpr std::size_t kMaxPayloadBytes = 16u << 10;
  static constexpr std::size_t kMaxPayloadsBytes = 16u << 20;  // of all together
  static constexpr std::size_t kNamesRemembered = 1000;        // of tasks that are done
  static constexpr std::size_t kMaxOutcomeBytes = 200;
  static constexpr std::size_t kMaxHaltedBytes = 8u << 10;

  // Error: kProtocol when the text is not a queue; empty text is not one.
  static Result<TaskQueue> parse(std::string_view text);
  std::string to_json() const;

  // Gives the task's number; that of the earlier one when a task of this name is remembered. kExhausted when full.
  Result<uint64_t> add(const std::string& name, const std::string& payload);
  // The number of tasks that wait again. kRefused under an epoch older than the fence, and under the same one when
  // another leader has it: two leases can give the same epoch. `leader` is unique among all terms of one epoch.
  Result<std::size_t> take_over(election::Epoch epoch, const std::string& leader = {});
  // The first task that is due, or nothing. kRefused unless `epoch` is that of the leader that took over last.
  Result<std::optional<Grant>> hand_out(const std::string& agent, election::Epoch epoch,
                                        const HandOutRules& rules = {});
  // Marks waiting tasks with `tries_most` tries as failed, and returns them. kRefused like hand_out().
  Result<std::vector<QueuedTask>> put_aside(election::Epoch epoch, uint32_t tries_most);
  // kRefused when the task was handed out again or taken over since; kExists when this very result came before.
  Status finish(const Grant& grant);
  // The attempt failed: the task waits again, or is put aside after `tries_most` tries. kRefused as above.
  Result<QueuedTask::State> fail_attempt(const Grant& grant, const std::string& outcome, uint32_t tries_most);
  // The task ended without fault, and waits again as if it had not been tried. kRefused as above.
  Status give_back(const Grant& grant);
  // The running tasks of all but these agents wait again: those of silent and of forgotten agents. kRefused unless
  // `epoch` is that of the leader that took over last.
  Result<std::size_t> hand_back(const std::vector<std::string>& living, election::Epoch epoch);

  // An operator's change: a failed task waits again, as if it had never been tried; a task without a worker is removed.
  // kNotFound; kRefused in any other state.
  Status retry(uint64_t number);
  Status drop(uint64_t number);

  // A queue that was begun anew because the old one was unreadable does nothing until an operator has seen the result:
  // it refuses new tasks and hand-outs with this text. Empty: it works.
  void halt(std::string_view why);
  void resume() { halted_.clear(); }
  const std::string& halted() const { return halted_; }

  election::Epoch fence() const { return fence_; }
  const std::string& leader() const { return leader_; }           // that raised the fence
  uint64_t next() const { return next_; }                         // the number of the task that is added next
  uint64_t cursor() const;                                        // the first task that is neither done nor failed
  const std::deque<QueuedTask>& tasks() const { return tasks_; }  // that are not done, by number
  const std::deque<QueuedTask>& past() const { return past_; }    // the last that are done, without payload
  const QueuedTask* find(uint64_t number) const;
  // True when a task is due for this agent under this epoch and these rules.
  bool has_due(const std::string& agent, election::Epoch epoch, const HandOutRules& rules) const;
  // put_aside() would find some.
  bool has_tried_too_often(uint32_t tries_most) const;

 private:
  Status in_office(election::Epoch epoch) const;
  Result<std::deque<QueuedTask>::iterator> granted(const Grant& grant);
  std::deque<QueuedTask>::iterator place_of(uint64_t number);
  void settle(std::deque<QueuedTask>::iterator task, QueuedTask::State state);

  election::Epoch fence_;
  std::string leader_;
  uint64_t next_ = 1;  // number of the task that is added next
  std::string halted_;
  std::size_t payload_bytes_ = 0;
  std::deque<QueuedTask> tasks_;
  std::deque<QueuedTask> past_;
};

}  // namespace bellwether::lead
