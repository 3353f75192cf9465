#include "lead/agents/task_work.h"

#include <utility>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/runtime/scope.h"

namespace bellwether::lead {

using runtime::task;

namespace {

constexpr Duration kAfterTrouble = Duration::seconds(1);
constexpr int kLastTries = 5;  // to report the end of a task to the queue, when the work must stop

std::string named(const Grant& task) { return fmt::format("task {} '{}'", task.number, task.name); }

}  // namespace

// --- the term --------------------------------------------------------------------------------------------------------

task<void> TaskWork::serve(election::Epoch epoch) {
  epoch_ = epoch;
  stopping_ = false;
  lost_ = false;
  refused_ = false;
  over_.reset();
  resting_.clear();
  troubles_.clear();
  runtime::Cancellation pauses;
  pauses_ = &pauses;
  const bool ours = co_await take_over();
  if (ours) {
    runtime::Scope tasks;
    co_await hand_out(tasks);
    co_await tasks.join();
  }
  pauses_ = nullptr;
}

void TaskWork::stop() {
  stopping_ = true;
  commands_.stop();
  if (pauses_ != nullptr) pauses_->cancel();
}

void TaskWork::lose() {
  lost_ = true;
  stop();
}

task<void> TaskWork::pause(Duration span) { co_await runtime_.sleep(span, pauses_); }

task<void> TaskWork::nap() {
  if (stopping_ || freed_) co_return;
  runtime::Cancellation nap(pauses_);
  nap_ = &nap;
  co_await runtime_.sleep(settings_.poll, &nap);
  nap_ = nullptr;
}

void TaskWork::tell(std::string_view event, const std::string& text, const Grant& task, bool warning) {
  Journal::Fields fields{
      {"key", settings_.key}, {"holder", settings_.agent}, {"epoch", static_cast<int64_t>(epoch_.value())}};
  std::string name(event);
  if (task.number != 0) {
    name.insert(0, "task_");
    fields.emplace_back("task", task.name);
    fields.emplace_back("number", static_cast<int64_t>(task.number));
    fields.emplace_back("attempt", static_cast<int64_t>(task.attempt));
  }
  journal_.transition(runtime_.wall_now(), name, (warning ? "warning: " : "") + printable(text), fields);
}

void TaskWork::trouble(const std::string& text, const Grant& task) {
  if (troubles_.insert(text).second) tell("trouble", text, task, true);
}

bool TaskWork::refused(const Error& error, const Grant& task) {
  if (error.code == Errc::kRefused || error.code == Errc::kNotFound || error.code == Errc::kExists) {
    tell("refused", "refused by the queue: " + error.message, task, true);
    return false;
  }
  trouble("the queue does not answer, trying again: " + error.message, task);
  return true;
}

// A leader under our lease that is refused here has lost it, or works on a queue that belongs to another lease.
bool TaskWork::not_in_office(const Error& error) {
  Error told = error;
  if (told.code == Errc::kRefused) {
    told.message +=
        ". If this continues, agents with another lease use this queue: compare --via and --key of all agents";
  }
  refused_ = !refused(told, {});
  return refused_;
}

// Raises the fence of the queue. It returns the tasks that former leaders have left behind.
task<bool> TaskWork::take_over() {
  while (!stopping_) {
    const auto taken = co_await queue_.take_over(epoch_, settings_.leader);
    if (taken) {
      const auto queue = co_await queue_.read();
      if (queue && !queue->halted().empty()) trouble(queue->halted(), {});
      std::string text = fmt::format("the queue is taken over under epoch {}", epoch_.value());
      if (queue) {
        text += fmt::format(", cursor {}, {} not done", queue->cursor(), format_count(queue->tasks().size(), "task"));
      }
      if (*taken > 0) text += fmt::format("; {} of the former leader started again", format_count(*taken, "task"));
      tell("taken_over", text, {});
      co_return !stopping_;
    }
    if (not_in_office(taken.error())) co_return false;
    co_await pause(kAfterTrouble);
  }
  co_return false;
}

// --- the tasks -------------------------------------------------------------------------------------------------------

// One reading of the queue for all free slots: it can be large, and this thread renews the lease too. One change
// follows the other, so that each granted task is known to be ours before the next request.
task<void> TaskWork::hand_out(runtime::Scope& tasks) {
  while (!stopping_) {
    Next next = Next::kIdle;
    freed_ = false;
    if (in_hands_.size() < settings_.parallel) next = co_await hand_out_one(tasks);
    if (next == Next::kOver) co_return;
    if (next == Next::kIdle) co_await nap();
  }
}

HandOutRules TaskWork::rules() {
  std::erase_if(resting_, [now = runtime_.now()](const auto& task) { return task.second <= now; });
  HandOutRules rules{.resting = {}, .tries_most = settings_.tries_most, .in_hands = std::nullopt};
  rules.in_hands.emplace(in_hands_.begin(), in_hands_.end());
  for (const auto& [number, until] : resting_) rules.resting.push_back(number);
  return rules;
}

// Reads without the lock that clients need to add tasks.
task<bool> TaskWork::is_due() {
  const auto queue = co_await queue_.read();
  // hand_out() handles an unreadable queue.
  if (!queue) co_return true;
  // hand_out() refuses a queue that is not ours any more.
  if (queue->fence() != epoch_) co_return true;
  if (!queue->halted().empty()) trouble(queue->halted(), {});
  if (queue->has_tried_too_often(settings_.tries_most)) co_await put_aside();
  if (queue->has_due(settings_.agent, epoch_, rules())) co_return true;
  const bool left = !queue->halted().empty() || queue->cursor() != queue->next();
  if (settings_.until_done && !left && !stopping_) {
    over_ = {std::nullopt, queue->tasks().size()};
    stop();
  }
  co_return false;
}

// Tasks whose leaders were gone too often before the end.
task<void> TaskWork::put_aside() {
  const auto aside = co_await queue_.put_aside(epoch_, settings_.tries_most);
  // A queue that refuses this refuses hand_out() too, which reports trouble with the file.
  if (!aside) co_return;
  for (const QueuedTask& task : *aside) {
    const Grant last{task.number, task.agent, task.epoch, task.attempt, task.name, {}};
    tell("failed",
         fmt::format("{} was started {}, last by '{}' ({}), and is not retried{}", named(last),
                     format_count(task.tries, "time"), task.agent, task.outcome, to_retry(task.number)),
         last, true);
  }
}

task<TaskWork::Next> TaskWork::hand_out_one(runtime::Scope& tasks) {
  const bool due = co_await is_due();
  if (stopping_) co_return Next::kOver;
  if (!due) co_return Next::kIdle;
  const auto given = co_await queue_.hand_out(settings_.agent, epoch_, rules());
  if (!given) {
    if (not_in_office(given.error())) {
      stop();
      co_return Next::kOver;
    }
    co_return Next::kIdle;
  }
  if (!given->has_value()) co_return Next::kIdle;
  Grant grant = **given;
  in_hands_.insert(grant.number);
  tasks.spawn(have_in_hands(std::move(grant)));
  co_return Next::kAgain;
}

task<void> TaskWork::have_in_hands(Grant grant) {
  const uint64_t number = grant.number;
  co_await run_one(std::move(grant));
  in_hands_.erase(number);
  freed_ = true;
  if (nap_ != nullptr) nap_->cancel();
}

CommandOptions TaskWork::options_for(const Grant& grant) const {
  CommandOptions options;
  options.command = settings_.command;
  options.environment = {{"BELLWETHER_KEY", settings_.key},
                         {"BELLWETHER_HOLDER", settings_.agent},
                         {"BELLWETHER_EPOCH", std::to_string(epoch_.value())},
                         {"BELLWETHER_TASK", grant.name},
                         {"BELLWETHER_TASK_NUMBER", std::to_string(grant.number)},
                         {"BELLWETHER_TASK_ATTEMPT", std::to_string(grant.attempt)},
                         {"BELLWETHER_TASK_PAYLOAD", grant.payload}};
  options.lock_fd = key_.claim_descriptor();
  return options;
}

task<void> TaskWork::run_one(Grant grant) {
  if (stopping_) {
    co_await give_back(grant);
    co_return;
  }
  tell("begun", fmt::format("{} starts, attempt {}", named(grant), grant.attempt), grant);
  const Instant began = runtime_.read_clock();
  const auto end = co_await commands_.run(options_for(grant));
  if (!end) {
    const Error& why = end.error();
    const bool for_good = why.code == Errc::kNotFound || why.code == Errc::kRefused;
    if (for_good) {
      over_ = {why};
      stop();
    } else {
      trouble("the command could not be started, trying again: " + why.message, grant);
    }
    co_await give_back(grant);
    co_await pause(kAfterTrouble);
    co_return;
  }
  if (end->did_its_work()) {
    co_await succeed(std::move(grant), runtime_.read_clock() - began);
  } else {
    co_await settle(std::move(grant), *end);
  }
}

std::string TaskWork::to_retry(uint64_t number) const {
  return fmt::format(". To try again: bellwether agents tasks retry {} --queue {}", number, queue_.path());
}

// Until the queue has heard it, says no, or it is too late.
template <class Act>
auto TaskWork::tell_queue(Grant grant, Act act) -> decltype(act(grant)) {
  for (int last_tries = kLastTries;;) {
    auto done = co_await act(grant);
    if (done || !refused(done.error(), grant) || lost_) co_return done;
    co_await runtime_.sleep(kAfterTrouble);
    if (stopping_ && --last_tries == 0) co_return done;
  }
}

task<void> TaskWork::settle(Grant grant, CommandEnd end) {
  // An end that came after the term's is not ours to judge: the next leader begins the task again.
  if (lost_ || runtime_.boot_now() >= commands_.term_ends()) {
    tell("abandoned", fmt::format("{} was stopped at the end of the term ({})", named(grant), how_it_ended(end)),
         grant);
    co_return;
  }
  if (end.asked) {
    co_await give_back(grant);
    co_return;
  }
  resting_[grant.number] = runtime_.read_clock() + settings_.retry_after;
  const auto state = co_await tell_queue(grant, [this, end](const Grant& failed) {
    return queue_.fail_attempt(failed, how_it_ended(end), settings_.tries_most);
  });
  if (!state) co_return;
  const bool over = *state == QueuedTask::State::kFailed;
  const std::string then = over ? ": too many attempts, not retried" + to_retry(grant.number)
                                : ": next attempt in " + format_duration(settings_.retry_after);
  tell("failed", fmt::format("{} failed, {}{}", named(grant), how_it_ended(end), then), grant, true);
}

// The work was done in time: that it is written down may take until the fence forbids it.
task<void> TaskWork::succeed(Grant grant, Duration took) {
  const Status done = co_await tell_queue(grant, [this](const Grant& one) { return queue_.finish(one); });
  if (done) tell("done", fmt::format("{} done in {}", named(grant), format_duration(took)), grant);
}

task<void> TaskWork::give_back(Grant grant) {
  const Status back = co_await tell_queue(grant, [this](const Grant& one) { return queue_.give_back(one); });
  if (back) tell("given_back", named(grant) + " is returned to the queue", grant);
}

}  // namespace bellwether::lead
