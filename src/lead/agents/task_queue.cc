#include "lead/agents/task_queue.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/encoding.h"
#include "core/base/enum_names.h"

namespace bellwether::lead {
namespace {

using election::Epoch;
using nlohmann::json;

constexpr std::string_view kTaskQueueFormat = "bellwether.tasks/1";
constexpr EnumNames<QueuedTask::State> kStates("waiting", "running", "done", "failed", "dropped");

tl::unexpected<Error> not_a_queue(const std::string& why) {
  return fail(Errc::kProtocol, "this is not a task queue: " + utf8_line(why, TaskQueue::kMaxOutcomeBytes));
}

json to_json(const QueuedTask& task) {
  return {{"number", task.number},          {"name", task.name},   {"payload", task.payload},
          {"state", to_string(task.state)}, {"agent", task.agent}, {"epoch", task.epoch.value()},
          {"attempt", task.attempt},        {"tries", task.tries}, {"outcome", task.outcome}};
}

Result<QueuedTask> read_task(const json& entry) {
  QueuedTask task;
  task.number = entry.at("number").get<uint64_t>();
  task.name = entry.at("name").get<std::string>();
  task.payload = entry.at("payload").get<std::string>();
  const auto state = kStates.find(entry.at("state").get<std::string>());
  if (!state) return not_a_queue("a task has an unknown state");
  task.state = *state;
  task.agent = entry.at("agent").get<std::string>();
  task.epoch = Epoch(entry.at("epoch").get<uint64_t>());
  task.attempt = entry.at("attempt").get<uint32_t>();
  task.tries = entry.value("tries", task.attempt);
  task.outcome = entry.value("outcome", std::string());
  return task;
}

std::string named(uint64_t number) { return fmt::format("task {}", number); }

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool is_settled(QueuedTask::State state) {
  return state == QueuedTask::State::kDone || state == QueuedTask::State::kDropped;
}

bool contains(const std::vector<uint64_t>& numbers, uint64_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// Its agent, which is in office under this epoch, knows nothing of it.
bool is_left_over(const QueuedTask& task, const std::string& agent, Epoch epoch, const HandOutRules& rules) {
  return rules.in_hands && task.state == QueuedTask::State::kRunning && task.agent == agent && task.epoch == epoch &&
         !contains(*rules.in_hands, task.number);
}

bool is_due(const QueuedTask& task, const HandOutRules& rules) {
  return task.state == QueuedTask::State::kWaiting && task.tries < rules.tries_most &&
         !contains(rules.resting, task.number);
}

Status check_task(const std::string& name, const std::string& payload) {
  if (name.empty() || name.size() > TaskQueue::kMaxNameBytes || !is_utf8(name) || has_control(name)) {
    return fail(Errc::kInvalid, "the name of a task must have 1 to {} bytes of UTF-8 without control characters",
                TaskQueue::kMaxNameBytes);
  }
  if (payload.size() > TaskQueue::kMaxPayloadBytes) {
    return fail(
        Errc::kInvalid,
        "the payload of task '{}' has {} bytes; the limit is {}: put it into a file, and use the path as payload", name,
        payload.size(), TaskQueue::kMaxPayloadBytes);
  }
  if (!is_utf8(payload) || payload.find('\0') != std::string::npos) {
    return fail(Errc::kInvalid,
                "the payload of task '{}' is not UTF-8 text, or has a zero byte: encode it, for example as Base64",
                name);
  }
  return {};
}

}  // namespace

std::string_view to_string(QueuedTask::State state) { return kStates[state]; }

Result<TaskQueue> TaskQueue::parse(std::string_view text) {
  TaskQueue queue;
  if (text.empty()) return not_a_queue("the file is empty");
  try {
    const json document = json::parse(text);
    if (document.at("format") != kTaskQueueFormat) return not_a_queue("its format is unknown");
    queue.fence_ = Epoch(document.at("fence").get<uint64_t>());
    queue.leader_ = document.value("leader", std::string());
    queue.next_ = document.at("next").get<uint64_t>();
    queue.halted_ = document.value("halted", std::string());
    for (const auto& [list, into] : {std::pair{"tasks", &queue.tasks_}, {"past", &queue.past_}}) {
      const json& entries = document.at(list);
      if (!entries.is_array() || entries.size() > kMaxTasks) return not_a_queue("it lists no tasks, or too many");
      for (const json& entry : entries) {
        BW_TRY(auto task, read_task(entry));
        if (is_settled(task.state) != (into == &queue.past_)) return not_a_queue("a task is in the wrong list");
        if (task.number == 0 || task.number >= queue.next_)
          return not_a_queue("a task has a number that was never assigned");
        queue.payload_bytes_ += task.payload.size();
        into->push_back(std::move(task));
      }
    }
    const auto not_growing = [](const QueuedTask& a, const QueuedTask& b) { return a.number >= b.number; };
    if (std::adjacent_find(queue.tasks_.begin(), queue.tasks_.end(), not_growing) != queue.tasks_.end()) {
      return not_a_queue("its task numbers do not increase");
    }
    if (document.at("cursor").get<uint64_t>() != queue.cursor())
      return not_a_queue("its cursor points to a wrong task");
  } catch (const json::exception& error) {
    return not_a_queue(error.what());
  }
  return queue;
}

std::string TaskQueue::to_json() const {
  json document{{"format", kTaskQueueFormat}, {"fence", fence_.value()}, {"leader", leader_},
                {"cursor", cursor()},         {"next", next_},           {"tasks", json::array()},
                {"past", json::array()}};
  if (!halted_.empty()) document["halted"] = halted_;
  for (const QueuedTask& task : tasks_) document["tasks"].push_back(lead::to_json(task));
  for (const QueuedTask& task : past_) document["past"].push_back(lead::to_json(task));
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::deque<QueuedTask>::iterator TaskQueue::place_of(uint64_t number) {
  const auto place = std::lower_bound(tasks_.begin(), tasks_.end(), number,
                                      [](const QueuedTask& task, uint64_t wanted) { return task.number < wanted; });
  return place != tasks_.end() && place->number == number ? place : tasks_.end();
}

const QueuedTask* TaskQueue::find(uint64_t number) const {
  for (const auto* list : {&tasks_, &past_}) {
    const auto found =
        std::find_if(list->begin(), list->end(), [&](const QueuedTask& task) { return task.number == number; });
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

uint64_t TaskQueue::cursor() const {
  const auto first = std::find_if(tasks_.begin(), tasks_.end(),
                                  [](const QueuedTask& task) { return task.state != QueuedTask::State::kFailed; });
  return first == tasks_.end() ? next_ : first->number;
}

bool TaskQueue::has_due(const std::string& agent, Epoch epoch, const HandOutRules& rules) const {
  if (!halted_.empty()) return false;
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const QueuedTask& task) {
    return is_left_over(task, agent, epoch, rules) || is_due(task, rules);
  });
}

bool TaskQueue::has_tried_too_often(uint32_t tries_most) const {
  if (!halted_.empty()) return false;
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const QueuedTask& task) {
    return task.state == QueuedTask::State::kWaiting && task.tries >= tries_most;
  });
}

Result<uint64_t> TaskQueue::add(const std::string& name, const std::string& payload) {
  BW_RETURN_IF_ERROR(check_task(name, payload));
  if (!halted_.empty()) return fail(Errc::kRefused, halted_);
  for (const auto* list : {&tasks_, &past_}) {
    const auto found =
        std::find_if(list->begin(), list->end(), [&](const QueuedTask& task) { return task.name == name; });
    if (found != list->end()) return found->number;
  }
  if (tasks_.size() >= kMaxTasks || payload_bytes_ + payload.size() > kMaxPayloadsBytes) {
    const auto failed = std::count_if(tasks_.begin(), tasks_.end(),
                                      [](const QueuedTask& task) { return task.state == QueuedTask::State::kFailed; });
    return fail(Errc::kExhausted,
                "the queue is full: {} tasks with {} bytes are not done, {} of them failed. The limit is {} tasks with "
                "{} bytes: add more when some are done, and drop or retry failed tasks",
                tasks_.size(), payload_bytes_, failed, kMaxTasks, kMaxPayloadsBytes);
  }
  payload_bytes_ += payload.size();
  tasks_.push_back({.number = next_, .name = name, .payload = payload});
  return next_++;
}

void TaskQueue::halt(std::string_view why) { halted_ = utf8_line(why, kMaxHaltedBytes); }

Status TaskQueue::in_office(Epoch epoch) const {
  if (epoch == fence_ && epoch.value() > 0) return {};
  return fail(Errc::kRefused, "epoch {} is not current: the queue was taken over under epoch {}", epoch.value(),
              fence_.value());
}

Result<std::size_t> TaskQueue::take_over(Epoch epoch, const std::string& leader) {
  if (epoch < fence_ || epoch.value() == 0) {
    return fail(Errc::kRefused, "epoch {} is too old: the queue was taken over under epoch {}", epoch.value(),
                fence_.value());
  }
  if (epoch == fence_) {
    if (leader == leader_) return std::size_t{0};
    return fail(Errc::kRefused,
                "epoch {} is taken: another leader, '{}', has taken over the queue under the same epoch", epoch.value(),
                leader_);
  }
  fence_ = epoch;
  leader_ = leader;
  std::size_t waiting_again = 0;
  for (QueuedTask& task : tasks_) {
    if (task.state != QueuedTask::State::kRunning) continue;
    task.state = QueuedTask::State::kWaiting;
    task.outcome = "its leader was lost before it was done";
    ++waiting_again;
  }
  return waiting_again;
}

Result<std::optional<Grant>> TaskQueue::hand_out(const std::string& agent, Epoch epoch, const HandOutRules& rules) {
  BW_RETURN_IF_ERROR(in_office(epoch));
  if (!halted_.empty()) return std::optional<Grant>();
  auto task = std::find_if(tasks_.begin(), tasks_.end(),
                           [&](const QueuedTask& one) { return is_left_over(one, agent, epoch, rules); });
  if (task == tasks_.end()) {
    task = std::find_if(tasks_.begin(), tasks_.end(), [&](const QueuedTask& one) { return is_due(one, rules); });
    if (task == tasks_.end()) return std::optional<Grant>();
    ++task->tries;
  }
  task->state = QueuedTask::State::kRunning;
  task->agent = agent;
  task->epoch = epoch;
  ++task->attempt;
  return std::optional(Grant{task->number, agent, epoch, task->attempt, task->name, task->payload});
}

Result<std::vector<QueuedTask>> TaskQueue::put_aside(Epoch epoch, uint32_t tries_most) {
  BW_RETURN_IF_ERROR(in_office(epoch));
  std::vector<QueuedTask> aside;
  if (!has_tried_too_often(tries_most)) return aside;
  for (QueuedTask& task : tasks_) {
    if (task.state != QueuedTask::State::kWaiting || task.tries < tries_most) continue;
    task.state = QueuedTask::State::kFailed;
    aside.push_back(task);
  }
  return aside;
}

// The task of a grant that is still good.
Result<std::deque<QueuedTask>::iterator> TaskQueue::granted(const Grant& grant) {
  const QueuedTask* known = find(grant.number);
  if (known == nullptr) {
    if (grant.number >= next_ || grant.number == 0) return fail(Errc::kNotFound, "there is no " + named(grant.number));
    return fail(Errc::kRefused, named(grant.number) + " was done long ago");
  }
  const bool same = known->agent == grant.agent && known->epoch == grant.epoch && known->attempt == grant.attempt &&
                    known->name == grant.name;
  if (same && known->state == QueuedTask::State::kDone) {
    return fail(Errc::kExists, "this result of {} was accepted already", named(grant.number));
  }
  if (!same || known->state != QueuedTask::State::kRunning || grant.epoch < fence_) {
    return fail(
        Errc::kRefused,
        "this result of {} is too late: it belongs to epoch {}, attempt {}, and the task was reassigned since then",
        named(grant.number), grant.epoch.value(), grant.attempt);
  }
  return place_of(grant.number);
}

void TaskQueue::settle(std::deque<QueuedTask>::iterator task, QueuedTask::State state) {
  payload_bytes_ -= task->payload.size();
  past_.push_back(std::move(*task));
  tasks_.erase(task);
  past_.back().payload.clear();
  past_.back().state = state;
  while (past_.size() > kNamesRemembered) past_.pop_front();
}

Status TaskQueue::finish(const Grant& grant) {
  BW_TRY(const auto task, granted(grant));
  task->outcome.clear();
  settle(task, QueuedTask::State::kDone);
  return {};
}

Result<QueuedTask::State> TaskQueue::fail_attempt(const Grant& grant, const std::string& outcome, uint32_t tries_most) {
  BW_TRY(const auto found, granted(grant));
  QueuedTask& task = *found;
  task.outcome = is_utf8(outcome) && outcome.size() <= kMaxOutcomeBytes ? outcome : "failed";
  task.state = task.tries >= tries_most ? QueuedTask::State::kFailed : QueuedTask::State::kWaiting;
  return task.state;
}

Status TaskQueue::give_back(const Grant& grant) {
  BW_TRY(const auto found, granted(grant));
  QueuedTask& task = *found;
  task.state = QueuedTask::State::kWaiting;
  task.outcome = "it was stopped in good order before it was done";
  if (task.tries > 0) --task.tries;
  return {};
}

Result<std::size_t> TaskQueue::hand_back(const std::vector<std::string>& living, Epoch epoch) {
  BW_RETURN_IF_ERROR(in_office(epoch));
  std::size_t count = 0;
  for (QueuedTask& task : tasks_) {
    if (task.state != QueuedTask::State::kRunning) continue;
    if (std::find(living.begin(), living.end(), task.agent) != living.end()) continue;
    task.state = QueuedTask::State::kWaiting;
    task.outcome = "its agent fell silent before it was done";
    ++count;
  }
  return count;
}

Status TaskQueue::retry(uint64_t number) {
  const auto task = place_of(number);
  if (task == tasks_.end()) return fail(Errc::kNotFound, "there is no unfinished {}", named(number));
  if (task->state != QueuedTask::State::kFailed) {
    return fail(Errc::kRefused, "{} is {}, not failed", named(number), to_string(task->state));
  }
  task->state = QueuedTask::State::kWaiting;
  task->tries = 0;
  return {};
}

Status TaskQueue::drop(uint64_t number) {
  const auto task = place_of(number);
  if (task == tasks_.end()) return fail(Errc::kNotFound, "there is no unfinished {}", named(number));
  if (task->state == QueuedTask::State::kRunning) {
    return fail(Errc::kRefused, "'{}' is working on {}: drop the task when it has ended", task->agent, named(number));
  }
  settle(task, QueuedTask::State::kDropped);
  return {};
}

}  // namespace bellwether::lead
