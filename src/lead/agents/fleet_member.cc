#include "lead/agents/fleet_member.h"

#include <vector>

#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::lead {

using runtime::task;

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + printable(name);
  return out;
}

}  // namespace

task<Status> FleetMember::join() {
  const runtime::ProcessIdentity self = runtime_.self();
  const auto known = co_await registry_.read();
  // The change below sets an unreadable registry aside.
  const std::vector<Agent> agents = known ? known->agents() : std::vector<Agent>();
  for (const Agent& agent : agents) {
    const bool other = agent.id == settings_.id && agent.host == self.host && agent.pid != self.pid && agent.pid > 1;
    if (!other || status_of(agent, runtime_.wall_now(), registry_.ages()) != AgentStatus::kActive) continue;
    if (runtime_.look_at_process(agent.pid).state != runtime::ProcessSight::State::kAlive) continue;
    co_return fail(Errc::kRefused,
                   "process {} is agent '{}' already. Give this agent another --id, end that process, or deregister "
                   "it: bellwether agents deregister",
                   agent.pid, printable(agent.id));
  }
  Status done = co_await registry_.add(settings_.id, settings_.role, self.host, self.pid);
  tell_once(done);
  co_return done;
}

task<void> FleetMember::beat(runtime::Cancellation* cancel) {
  while (true) {
    const Duration most = settings_.heartbeat;
    const Duration wait = Duration::nanos(runtime_.prng().between(most.ns() * 8 / 10, most.ns()));
    const bool due = co_await runtime_.sleep(wait, cancel);
    if (!due) co_return;
    const Status how = co_await beat_once();
    if (!cancel->cancelled()) tell_once(how);
  }
}

task<Status> FleetMember::beat_once() {
  Status heard = co_await registry_.heartbeat(settings_.id);
  if (!heard && heard.error().code == Errc::kNotFound) {
    const runtime::ProcessIdentity self = runtime_.self();
    heard = co_await registry_.add(settings_.id, settings_.role, self.host, self.pid);
    if (heard) journal_.warn(runtime_.wall_now(), "this agent was missing in the registry and is registered again");
  }
  if (!heard || !epoch_) co_return heard;
  const election::Epoch epoch = *epoch_;
  Status cleaned = co_await clean_up(epoch);
  co_return cleaned;
}

task<Status> FleetMember::clean_up(election::Epoch epoch) {
  BW_CO_TRY(const auto cleanup, co_await registry_.clean(settings_.id));
  if (cleanup.changed()) {
    journal_.transition(
        runtime_.wall_now(), "cleaned",
        fmt::format("agents: stale {}; removed {}", cleanup.stale.empty() ? "none" : joined(cleanup.stale),
                    cleanup.reaped.empty() ? "none" : joined(cleanup.reaped)),
        {{"stale", joined(cleanup.stale)},
         {"forgotten", joined(cleanup.reaped)},
         {"epoch", static_cast<int64_t>(epoch.value())}});
  }
  BW_CO_TRY(const auto registry, co_await registry_.read());
  std::vector<std::string> living{settings_.id};
  for (const Agent& agent : registry.agents()) {
    if (agent.status == AgentStatus::kActive) living.push_back(agent.id);
  }
  auto handed_back = co_await queue_.hand_back(std::move(living), epoch);
  // A leader that came after us, or the queue is not taken over yet.
  if (!handed_back && handed_back.error().code == Errc::kRefused) co_return Status();
  BW_CO_TRY(const auto back, std::move(handed_back));
  if (back > 0) {
    journal_.transition(runtime_.wall_now(), "handed_back",
                        format_count(back, "task") + " of silent agents handed back to the queue",
                        {{"tasks", static_cast<int64_t>(back)}, {"epoch", static_cast<int64_t>(epoch.value())}});
  }
  co_return Status();
}

task<void> FleetMember::leave() {
  const Status left = co_await registry_.remove(settings_.id);
  if (!left && left.error().code != Errc::kNotFound) tell_once(left);
}

void FleetMember::tell_once(const Status& how) {
  std::string trouble = how ? std::string() : "the registry or the queue: " + how.error().message;
  if (trouble.empty() && registry_.quarantined()) {
    trouble = "the registry was torn or foreign, and its file was renamed; agents register again";
  }
  if (!trouble.empty() && trouble != trouble_) journal_.warn(runtime_.wall_now(), trouble);
  trouble_ = trouble;
}

}  // namespace bellwether::lead
