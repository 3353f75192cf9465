#include "sim/quorum/quorum_run.h"

#include <algorithm>
#include <utility>

#include "base/probe.h"
#include "base/units.h"

namespace bellwether::sim {

using quorum::MemberId;
using quorum::QuorumElector;
using quorum::Record;

// Where everybody stands at the end of a run that went wrong.
void QuorumWorld::tell_states() {
  if (!tracing_) return;
  for (const QuorumMember& m : members_) {
    if (!m.up) {
      say(m, "is down");
      continue;
    }
    const quorum::QuorumElector& elector = *m.elector;
    const quorum::Configuration& voters = elector.members();
    std::string text = std::string("is a ") + to_string(elector.role());
    if (elector.active()) text += ", active";
    if (!elector.takes_part()) text += ", takes no part";
    if (m.paused) text += ", paused";
    text += ", in term " + std::to_string(elector.term().value()) + ", voted for " +
            std::to_string(elector.record().vote.value()) + "; voters of term " +
            std::to_string(voters.stamp.term.value()) + "/" + std::to_string(voters.stamp.number) + ":";
    for (const MemberId id : voters.voters) text += " " + std::to_string(id.value());
    if (voters.joint()) text += ", to be:";
    for (const MemberId id : voters.next) text += " " + std::to_string(id.value());
    const Instant wake = elector.wake();
    text += wake == Instant::never() ? "; waits for others"
                                     : "; wakes in " + format_duration(m.clock.world_at(wake) - now());
    say(m, text);
  }
}

void QuorumWorld::start(QuorumMember& m) {
  if (m.up || m.gone) return;
  m.up = true;
  m.paused = m.suspended = false;
  ++m.life;
  quorum::QuorumConfig config;
  config.self = m.id;
  config.timing = timing_;
  if (is(QuorumMistake::kNoMarginForDrift)) config.timing.drift = 0;
  if (!m.removed) config.bootstrap = declared_;
  if (!calm_) config.priority = static_cast<uint8_t>(m.index % 3 == 2 ? 1 : 0);
  m.elector.emplace(std::move(config), prng().next());
  quorum::Start begin;
  if (!m.disk.empty()) {
    begin.found = quorum::Start::Found::kRecord;
    begin.record = m.disk.newest();
  } else if (m.lost && !is(QuorumMistake::kLostRecordIsNew)) {
    begin.found = quorum::Start::Found::kUnreadable;
  }
  if (is(QuorumMistake::kVoteForgotten)) begin.record.vote = quorum::kNobody;
  if (is(QuorumMistake::kTermForgotten)) begin.record.term = begin.record.members.stamp.term = quorum::Term();
  if (is(QuorumMistake::kLiveMajority) && begin.found == quorum::Start::Found::kRecord) {
    std::erase_if(begin.record.members.voters, [&](MemberId id) {
      return std::none_of(members_.begin(), members_.end(), [&](QuorumMember& other) {
        return other.id == id && other.up && network_->is_open(m.index, other.index);
      });
    });
  }
  say(m, "starts");
  step(m, begin);
  const bool not_quiet = is(QuorumMistake::kPromiseForgotten) || is(QuorumMistake::kVoteForgotten) ||
                         is(QuorumMistake::kVoteBeforeDurable) || is(QuorumMistake::kDiskErrorIgnored) ||
                         is(QuorumMistake::kOlderDiskUnnoticed) || is(QuorumMistake::kLostRecordIsNew);
  if (not_quiet) m.clock.base_local += timing_.promise(timing_.lease) * 2;
  step(m, quorum::StateWritten{m.state});
  // Somebody who follows a leader asks it for the state.
  timeline_.after(draw(timing_.lease, timing_.lease * 4), [this, &m, life = m.life] {
    if (m.up && m.life == life) sync_state(m);
  });
}

void QuorumWorld::sync_state(QuorumMember& m) {
  if (m.elector->active()) return;
  const MemberId leader = m.elector->leader();
  if (leader != quorum::kNobody && leader != m.id) {
    const bool done = prng().chance(0.8);
    deliver(m, done ? quorum::Event(quorum::Synced{}) : quorum::Event(quorum::SyncFailed{"the leader did not answer"}));
  }
  timeline_.after(timing_.lease * 2, [this, &m, life = m.life] {
    if (m.up && m.life == life) sync_state(m);
  });
}

void QuorumWorld::step(QuorumMember& m, const quorum::Event& event) {
  ++events_;
  const quorum::Term before = m.elector->term();
  const MemberId leader_before = m.elector->leader();
  const bool led_before = m.elector->role() == quorum::Role::kLeader;
  quorum::Effects effects;
  m.elector->step(m.clock.local(now()), event, effects);
  expect_terms_respected(m, event, before, leader_before, led_before);
  for (const quorum::Effect& effect : effects) carry_out(m, effect);
  set_wake(m, m.elector->wake());
}

void QuorumWorld::expect_terms_respected(const QuorumMember& m, const quorum::Event& event, quorum::Term before,
                                         MemberId leader_before, bool led_before) {
  if (m.elector->term() < before) checker_.fail("I7: a term goes back", now());
  const auto* received = std::get_if<quorum::Received>(&event);
  if (received == nullptr || received->message.term >= before || led_before) return;
  // Who grants a pre-vote may know an earlier term than who asked.
  if (std::holds_alternative<quorum::PreVoteAnswer>(received->message.body)) return;
  if (m.elector->term() != before || m.elector->leader() != leader_before) {
    checker_.fail("I7: a message of an earlier term changes something", now());
  }
}

void QuorumWorld::carry_out(QuorumMember& m, const quorum::Effect& effect) {
  expect_evidence(effect);
  if (const auto* sending = std::get_if<quorum::Send>(&effect)) {
    send(m, *sending);
  } else if (const auto* writing = std::get_if<quorum::Persist>(&effect)) {
    persist(m, writing->record);
  } else if (const auto* got = std::get_if<quorum::Elected>(&effect)) {
    elected(m, *got);
  } else if (std::holds_alternative<quorum::Renewed>(effect)) {
    work_->renewed(m, m.elector->stopped_by());
  } else if (const auto* draining = std::get_if<quorum::Drain>(&effect)) {
    say(m, "drains: " + draining->cause);
    work_->drain(m, calm_ ? Duration::zero() : timing_.lease * 2);
  } else if (const auto* ended = std::get_if<quorum::TermEnded>(&effect)) {
    work_->term_ended(m, *ended);
  } else if (const auto* changed = std::get_if<quorum::LeaderChanged>(&effect)) {
    if (tracing_) {
      say(m, "sees leader " + std::to_string(changed->leader.value()) + " in term " +
                 std::to_string(changed->term.value()) + ": " + changed->evidence);
    }
  } else if (const auto* members = std::get_if<quorum::MembersChanged>(&effect)) {
    say(m, "has " + std::to_string(members->members.voters.size()) + " members from now on");
  } else if (const auto* note = std::get_if<quorum::Note>(&effect)) {
    say(m, note->text);
  }
}

// I17: whoever reads the log must learn why.
void QuorumWorld::expect_evidence(const quorum::Effect& effect) {
  const auto* ended = std::get_if<quorum::TermEnded>(&effect);
  const auto* drain = std::get_if<quorum::Drain>(&effect);
  const auto* changed = std::get_if<quorum::LeaderChanged>(&effect);
  const bool silent = (ended != nullptr && ended->why.empty()) || (drain != nullptr && drain->cause.empty()) ||
                      (changed != nullptr && changed->evidence.empty());
  if (silent) checker_.fail("I17: a decision without evidence", now());
}

}  // namespace bellwether::sim
