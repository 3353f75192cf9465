#include "cluster/register/set_change.h"

#include <algorithm>

#include "core/base/overloaded.h"
#include "core/base/probe.h"

namespace bellwether::registers {

void SetChange::step(Instant now, const SetEvent& event, SetEffects& out) {
  if (state_ == State::kOver) return;
  std::visit(Overloaded{
                 [&](const SetTaken& found) { taken(now, found, out); },
                 // Replicas can be told without the register.
                 [&](const SetLost&) {
                   if (state_ != State::kTelling) take_again();
                 },
                 [&](const SetWritten& written) {
                   if (state_ != State::kWriting) return;
                   if (!written.ok) return take_again();
                   set_ = writing_;
                   go_on(now, out);
                 },
                 [&](const SetStateIs& state) {
                   states_[state.from] = state.state;
                   advance(now, out);
                 },
                 [&](const SetTick&) {
                   if (now >= asks_at_) ask(now, out);
                 },
             },
             event);
}

void SetChange::taken(Instant now, const SetTaken& found, SetEffects& out) {
  if (state_ != State::kTaking) return;
  if (found.set && found.set->number < set_.number) {
    return end(SetFailed{{Errc::kProtocol, fmt::format("the register of the replicas holds set {}, but set {} is known",
                                                       found.set->number, set_.number)}},
               out);
  }
  if (found.set) set_ = *found.set;
  go_on(now, out);
}

// The register holds set_.
void SetChange::go_on(Instant now, SetEffects& out) {
  out.push_back(HaveSet{set_});
  if (set_.joint()) {
    if (writing_ != set_) BW_PROBE("register: a change of the replicas is found under way");
    begun_ = true;
    former_ = set_.names;
    state_ = State::kReading;
    return ask(now, out);
  }
  const bool wanted = config_.wish != SetWish();
  if (wanted && !(begun_ && is_fulfilled(config_.wish, set_))) {
    auto step = begin_change(set_, config_.wish);
    if (!step) return end(SetFailed{step.error()}, out);
    begun_ = true;
    return write(std::move(*step), out);
  }
  state_ = State::kTelling;
  ask(now, out);
}

void SetChange::write(ReplicaSet set, SetEffects& out) {
  writing_ = std::move(set);
  state_ = State::kWriting;
  asks_at_ = Instant::never();
  out.push_back(WriteSet{writing_});
}

void SetChange::take_again() {
  state_ = State::kTaking;
  asks_at_ = Instant::never();
}

void SetChange::end(SetEffect effect, SetEffects& out) {
  state_ = State::kOver;
  asks_at_ = Instant::never();
  out.push_back(std::move(effect));
}

bool SetChange::knows(const std::string& name) const {
  const auto state = states_.find(name);
  return state != states_.end() && state->second.set.number >= set_.number;
}

bool SetChange::has_read(const std::string& name) const {
  const auto state = states_.find(name);
  return state != states_.end() && state->second.read >= set_.number;
}

void SetChange::ask(Instant now, SetEffects& out) {
  asks_at_ = now + config_.retry;
  std::vector<std::string> names = set_.all();
  names.insert(names.end(), former_.begin(), former_.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    const bool reads = std::binary_search(set_.next.begin(), set_.next.end(), name);
    if (!knows(name) || (reads && !has_read(name))) out.push_back(AskSetState{name, set_});
  }
  advance(now, out);
}

// A removed node may go for good once the change is done. So a majority of those that stay must know the end of it.
void SetChange::advance(Instant, SetEffects& out) {
  const bool known = ReplicaSet::most(set_.names, [&](const std::string& name) { return knows(name); });
  const bool read = ReplicaSet::most(set_.next, [&](const std::string& name) { return has_read(name); });
  if (state_ == State::kReading && known && read) write(end_change(set_), out);
  if (state_ == State::kTelling && known) end(SetDone{set_}, out);
}

std::string SetChange::waits_for() const {
  if (state_ == State::kTaking || state_ == State::kWriting) return "the register of the replicas";
  std::string text;
  const auto add = [&](const std::string& name, const char* what) {
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", name, what);
  };
  for (const std::string& name : set_.names) {
    if (!knows(name)) add(name, "does not know the new set");
  }
  for (const std::string& name : set_.next) {
    if (!has_read(name)) add(name, "has not read the jobs");
  }
  return text;
}

}  // namespace bellwether::registers
