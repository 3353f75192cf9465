#include "lead/agents/task_queue.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lead/agents/utf8.h"

namespace bellwether::lead {
namespace {

using election::Epoch;
using nlohmann::json;

constexpr std::string_view kFormat = "bellwether.tasks/1";
constexpr std::array<std::string_view, 3> kStates{"waiting", "running", "done"};

tl::unexpected<Error> not_a_queue(const std::string& why) {
  return fail(Errc::kProtocol, "this is no queue of tasks: " + why);
}

json to_json(const QueuedTask& task) {
  return {{"number", task.number},   {"name", task.name},
          {"payload", task.payload}, {"state", kStates[static_cast<std::size_t>(task.state)]},
          {"agent", task.agent},     {"epoch", task.epoch.value()},
          {"attempt", task.attempt}};
}

Result<QueuedTask> read_task(const json& entry) {
  QueuedTask task;
  task.number = entry.at("number").get<uint64_t>();
  task.name = entry.at("name").get<std::string>();
  task.payload = entry.at("payload").get<std::string>();
  const auto state = std::find(kStates.begin(), kStates.end(), entry.at("state").get<std::string>());
  if (state == kStates.end()) return not_a_queue("a task is in no known state");
  task.state = static_cast<QueuedTask::State>(state - kStates.begin());
  task.agent = entry.at("agent").get<std::string>();
  task.epoch = Epoch(entry.at("epoch").get<uint64_t>());
  task.attempt = entry.at("attempt").get<uint32_t>();
  return task;
}

std::string named(uint64_t number) { return "task " + std::to_string(number); }

}  // namespace

Result<TaskQueue> TaskQueue::parse(std::string_view text) {
  TaskQueue queue;
  if (text.empty()) return queue;
  try {
    const json document = json::parse(text);
    if (document.at("format") != kFormat) return not_a_queue("its format is another one");
    queue.fence_ = Epoch(document.at("fence").get<uint64_t>());
    queue.cursor_ = document.at("cursor").get<uint64_t>();
    for (const auto& [list, into] : {std::pair{"tasks", &queue.tasks_}, {"past", &queue.past_}}) {
      const json& entries = document.at(list);
      if (!entries.is_array() || entries.size() > kMost) return not_a_queue("it lists no tasks, or too many");
      for (const json& entry : entries) {
        auto task = read_task(entry);
        if (!task) return tl::unexpected(task.error());
        into->push_back(std::move(*task));
      }
    }
  } catch (const json::exception& error) {
    return not_a_queue(error.what());
  }
  for (std::size_t i = 0; i < queue.tasks_.size(); ++i) {
    if (queue.tasks_[i].number != queue.cursor_ + i) return not_a_queue("its numbers have gaps");
  }
  return queue;
}

std::string TaskQueue::to_json() const {
  json document{{"format", kFormat},
                {"fence", fence_.value()},
                {"cursor", cursor_},
                {"tasks", json::array()},
                {"past", json::array()}};
  for (const QueuedTask& task : tasks_) document["tasks"].push_back(lead::to_json(task));
  for (const QueuedTask& task : past_) document["past"].push_back(lead::to_json(task));
  return document.dump(1) + "\n";
}

const QueuedTask* TaskQueue::find(uint64_t number) const {
  if (number >= cursor_ && number - cursor_ < tasks_.size()) return &tasks_[number - cursor_];
  const auto found =
      std::find_if(past_.begin(), past_.end(), [&](const QueuedTask& task) { return task.number == number; });
  return found == past_.end() ? nullptr : &*found;
}

Result<uint64_t> TaskQueue::add(const std::string& name, const std::string& payload) {
  if (name.empty() || name.size() > kNameBytesMax || payload.size() > kPayloadBytesMax || !is_utf8(name) ||
      !is_utf8(payload)) {
    return fail(Errc::kInvalid, "a task has a name of 1 to " + std::to_string(kNameBytesMax) +
                                    " bytes and a payload of at most " + std::to_string(kPayloadBytesMax) +
                                    ", both in UTF-8");
  }
  for (const auto* list : {&tasks_, &past_}) {
    const auto found =
        std::find_if(list->begin(), list->end(), [&](const QueuedTask& task) { return task.name == name; });
    if (found != list->end()) return found->number;
  }
  if (tasks_.size() >= kMost) {
    return fail(Errc::kExhausted, "the queue is full: " + std::to_string(kMost) + " tasks are not done");
  }
  const uint64_t number = cursor_ + tasks_.size();
  tasks_.push_back({.number = number, .name = name, .payload = payload});
  return number;
}

Status TaskQueue::in_office(Epoch epoch) const {
  if (epoch == fence_ && epoch.value() > 0) return {};
  return fail(Errc::kRefused, "epoch " + std::to_string(epoch.value()) +
                                  " is not in office: the queue was taken over " + "under epoch " +
                                  std::to_string(fence_.value()));
}

Result<std::size_t> TaskQueue::take_over(Epoch epoch) {
  if (epoch < fence_ || epoch.value() == 0) {
    return fail(Errc::kRefused, "epoch " + std::to_string(epoch.value()) + " comes too late: epoch " +
                                    std::to_string(fence_.value()) + " has taken the queue over");
  }
  if (epoch == fence_) return std::size_t{0};
  fence_ = epoch;
  std::size_t waiting_again = 0;
  for (QueuedTask& task : tasks_) {
    if (task.state != QueuedTask::State::kRunning) continue;
    task.state = QueuedTask::State::kWaiting;
    ++waiting_again;
  }
  return waiting_again;
}

Result<std::optional<Grant>> TaskQueue::hand_out(const std::string& agent, Epoch epoch) {
  if (auto good = in_office(epoch); !good) return tl::unexpected(good.error());
  for (QueuedTask& task : tasks_) {
    if (task.state != QueuedTask::State::kWaiting) continue;
    task.state = QueuedTask::State::kRunning;
    task.agent = agent;
    task.epoch = epoch;
    ++task.attempt;
    return std::optional(Grant{task.number, agent, epoch, task.attempt});
  }
  return std::optional<Grant>();
}

Status TaskQueue::finish(const Grant& grant) {
  const QueuedTask* found = find(grant.number);
  if (found == nullptr) {
    return grant.number < cursor_ ? fail(Errc::kRefused, named(grant.number) + " was done long ago")
                                  : fail(Errc::kNotFound, "there is no " + named(grant.number));
  }
  const bool granted = found->agent == grant.agent && found->epoch == grant.epoch && found->attempt == grant.attempt;
  if (found->state == QueuedTask::State::kDone && granted) {
    return fail(Errc::kExists, "this result of " + named(grant.number) + " was accepted before");
  }
  if (found->state != QueuedTask::State::kRunning || !granted || grant.epoch < fence_) {
    return fail(Errc::kRefused, "this result of " + named(grant.number) + " comes too late: it was handed out under " +
                                    "epoch " + std::to_string(grant.epoch.value()) + ", attempt " +
                                    std::to_string(grant.attempt) + ", and has changed hands since");
  }
  tasks_[grant.number - cursor_].state = QueuedTask::State::kDone;
  advance();
  return {};
}

Result<std::size_t> TaskQueue::hand_back(const std::vector<std::string>& living, Epoch epoch) {
  if (auto good = in_office(epoch); !good) return tl::unexpected(good.error());
  std::size_t count = 0;
  for (QueuedTask& task : tasks_) {
    if (task.state != QueuedTask::State::kRunning) continue;
    if (std::find(living.begin(), living.end(), task.agent) != living.end()) continue;
    task.state = QueuedTask::State::kWaiting;
    ++count;
  }
  return count;
}

void TaskQueue::advance() {
  while (!tasks_.empty() && tasks_.front().state == QueuedTask::State::kDone) {
    past_.push_back(std::move(tasks_.front()));
    past_.back().payload.clear();
    tasks_.pop_front();
    ++cursor_;
  }
  while (past_.size() > kNamesRemembered) past_.pop_front();
}

}  // namespace bellwether::lead
