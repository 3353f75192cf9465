#include "lead/run/term_report.h"

#include <algorithm>
#include <csignal>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "lead/run/guarded_command.h"

namespace bellwether::lead {
namespace {

constexpr std::size_t kMaxWaiting = 64;
constexpr Duration kMaxTime = Duration::seconds(10);

}  // namespace

void Hooks::call(std::string command, Environment environment) {
  if (command.empty()) return;
  if (waiting_.size() >= kMaxWaiting) {
    journal_.warn(runtime_.wall_now(), "hooks are slower than events; dropped: " + waiting_.front().command);
    waiting_.pop_front();
  }
  waiting_.push_back({std::move(command), std::move(environment)});
  more_.set();
}

void Hooks::end_soon() {
  end_by_ = runtime_.read_clock() + kMaxTime;
  more_.set();
}

runtime::task<void> Hooks::run(runtime::Cancellation* cancel) {
  const runtime::CancelCallback wake(
      cancel, [](void* self) { static_cast<Hooks*>(self)->end_soon(); }, this);
  while (true) {
    while (!waiting_.empty() && runtime_.read_clock() < end_by_) {
      Call next = std::move(waiting_.front());
      waiting_.pop_front();
      co_await run_one(std::move(next));
    }
    if (cancel->cancelled()) break;
    more_.reset();
    co_await more_.wait();
  }
  for (const Call& call : waiting_) {
    journal_.warn(runtime_.wall_now(), fmt::format("there was no time for the hook '{}'", call.command));
  }
}

runtime::task<void> Hooks::run_one(Call call) {
  runtime::SpawnOptions options;
  options.argv = {"/bin/sh", "-c", call.command};
  options.environment = std::move(call.environment);
  options.group = runtime::SpawnOptions::Group::kOwnGroup;
  options.no_input = true;
  auto child = co_await runtime_.spawn(std::move(options));
  if (!child) {
    journal_.warn(runtime_.wall_now(), fmt::format("hook '{}': {}", call.command, child.error().message));
    co_return;
  }
  const Instant begun = runtime_.read_clock();
  const Instant deadline = std::min(begun + kMaxTime, end_by_);
  const auto end = co_await (*child)->wait(deadline, nullptr);
  if (!end) {
    (void)(*child)->signal_group(SIGKILL);
    journal_.warn(runtime_.wall_now(), fmt::format("hook '{}' was killed: it ran for {}", call.command,
                                                   format_duration(runtime_.read_clock() - begun)));
  } else if (!end->succeeded()) {
    journal_.warn(runtime_.wall_now(), fmt::format("hook '{}' failed: {}", call.command, how_it_ended(*end)));
  }
}

using election::EndReason;
using election::Epoch;

namespace {

Journal::Fields fields_of(const TermReport::Ends& ends) {
  return {{"term_ends_boot_ns", ends.term.ns()},
          {"kill_at_boot_ns", ends.kill_at.ns()},
          {"lease_ends_boot_ns", ends.lease.ns()}};
}

}  // namespace

void TermReport::tell(std::string_view event, const std::string& text, Epoch epoch, const Journal::Fields& more) {
  Journal::Fields fields{{"key", options_.key}, {"holder", holder_}, {"epoch", static_cast<int64_t>(epoch.value())}};
  fields.insert(fields.end(), more.begin(), more.end());
  journal_.transition(runtime_.wall_now(), event, text, fields);
}

Hooks::Environment TermReport::environment(Epoch epoch) const {
  return {{"BELLWETHER_KEY", options_.key},
          {"BELLWETHER_HOLDER", holder_},
          {"BELLWETHER_EPOCH", std::to_string(epoch.value())}};
}

void TermReport::elected(const election::TermOfOffice& term, const Ends& ends) {
  figures_.elected(term, runtime_.boot_now());
  tell("elected", fmt::format("leading '{}', epoch {}", printable(options_.key), term.epoch.value()), term.epoch,
       fields_of(ends));
  hooks_.call(options_.on_elected, environment(term.epoch));
}

void TermReport::renewed(const Ends& ends, Duration took) {
  figures_.renewed(runtime_.boot_now(), took);
  journal_.step(runtime_.wall_now(), "renewed", "renewed in " + format_duration(took), fields_of(ends));
}

void TermReport::term_ended(const election::TermEnded& ended) {
  figures_.term_ended();
  const std::string reason = to_string(ended.reason);
  if (ended.reason == EndReason::kResigned) {
    tell("resigned", "no longer leading: " + ended.why, ended.epoch);
  } else {
    tell("deposed", fmt::format("lost the leadership ({}): {}", reason, ended.why), ended.epoch);
  }
  auto variables = environment(ended.epoch);
  variables.emplace_back("BELLWETHER_REASON", reason);
  hooks_.call(options_.on_deposed, std::move(variables));
}

void TermReport::leader_changed(const election::LeaseRecord& record, const std::string& evidence, Duration failover) {
  figures_.leader_changed(record, failover);
  const std::string who = record.held() ? printable(record.holder) : "nobody";
  const std::string text =
      fmt::format("leader of '{}': {}{}", printable(options_.key), who,
                  record.held() ? fmt::format(", epoch {}", record.epoch.value()) : fmt::format(" ({})", evidence));
  if (options_.observe) {
    tell("leader", text, record.epoch);
  } else if (record.holder != holder_) {
    journal_.detail(runtime_.wall_now(), text);
  }
  auto variables = environment(record.epoch);
  variables.emplace_back("BELLWETHER_LEADER", record.holder);
  hooks_.call(options_.on_leader_changed, std::move(variables));
}

void TermReport::fail_open(bool open, const std::string& why, Epoch floor) {
  if (open) figures_.fell_open();
  tell("fail-open",
       open ? "the fail policy permits work without proof: " + why : "proof of leadership is required again: " + why,
       floor);
}

}  // namespace bellwether::lead
