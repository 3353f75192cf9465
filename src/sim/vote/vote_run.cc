#include "sim/vote/vote_run.h"

#include <algorithm>

namespace bellwether::sim {

using vote::NodeId;

// Where everybody stands at the end of a run that went wrong.
void VoteWorld::tell_states() {
  if (!tracing_) return;
  for (const VoteMember& m : members_) {
    if (!m.up) {
      say(m, "is down");
      continue;
    }
    const vote::VoteElector& elector = *m.elector;
    std::string text = "is " + std::string(to_string(elector.state()));
    if (m.paused) text += ", paused";
    if (elector.follows_only()) text += ", follows only";
    if (!elector.stands()) text += ", does not stand";
    text += ", voted in term " + std::to_string(elector.record().term.value()) + " for " +
            std::to_string(elector.record().vote.value()) + ", promised to term " +
            std::to_string(elector.record().promised.value()) + ", knows admin " +
            std::to_string(elector.admin().value()) + " of term " + std::to_string(elector.admin_term().value());
    if (const vote::Ballot* ballot = elector.ballot(); ballot != nullptr) {
      text += "; election of term " + std::to_string(elector.ballot_term().value()) +
              (elector.ballot_over() ? ", over:" : ":");
      for (const auto& [id, candidate] : ballot->announcements()) {
        text += " " + std::to_string(id.value()) + (candidate ? "" : " stands not,");
        if (!candidate) continue;
        text += " has " + std::to_string(ballot->votes_for(id)) + (candidate->doubt.empty() ? "," : " (doubted),");
      }
    }
    const Instant wake = elector.wake();
    text += wake == Instant::never() ? "; waits for others"
                                     : "; wakes in " + format_duration(m.clock.world_at(wake) - now());
    say(m, text);
  }
}

// With these, what is forgotten must not be covered by a node that is quiet after its start.
bool VoteWorld::is_hidden_by_quiet() const {
  return is(VoteMistake::kPromiseForgotten) || is(VoteMistake::kVoteForgotten) || is(VoteMistake::kVoteBeforeDurable) ||
         is(VoteMistake::kDiskErrorIgnored) || is(VoteMistake::kOlderDiskUnnoticed) || is(VoteMistake::kTermForgotten);
}

void VoteWorld::start(VoteMember& m) {
  if (m.up || m.gone) return;
  m.up = true;
  m.paused = m.suspended = false;
  ++m.life;
  m.started = m.clock.local(now());
  vote::VoteConfig config;
  config.self = m.id;
  config.members = declared_;
  config.timing = timing_;
  config.reconstructs_keys = needs_keys_;
  if (is(VoteMistake::kPlurality)) config.rule = vote::QuorumRule::kPlurality;
  if (is(VoteMistake::kNoMarginForDrift)) config.timing.drift = 0;
  if (is(VoteMistake::kLiveMajority)) {
    std::erase_if(config.members, [&](NodeId id) {
      return id != m.id && std::none_of(members_.begin(), members_.end(), [&](const VoteMember& other) {
               return other.id == id && other.up && network_->is_open(m.index, other.index);
             });
    });
  }
  vote::Start begin;
  if (!m.disk.empty()) {
    begin = {vote::Start::Found::kRecord, m.disk.newest()};
  } else if (m.lost) {
    begin.found = is(VoteMistake::kLostRecordIsNew) ? vote::Start::Found::kNew : vote::Start::Found::kUnreadable;
  }
  if (is(VoteMistake::kVoteForgotten)) begin.record.term = std::min(begin.record.term, begin.record.promised);
  if (is(VoteMistake::kTermForgotten)) begin.record.term = begin.record.promised = election::Term();
  if (is_hidden_by_quiet()) begin.record.longest_promise = Duration::zero();
  // Nobody compares the number of its start.
  if (is(VoteMistake::kOlderDiskUnnoticed) || is(VoteMistake::kLostRecordIsNew)) begin.record.start = m.life;
  m.elector.emplace(std::move(config), prng().next());
  say(m, "starts");
  measure(m);
  step(m, begin);
  keep_measuring(m);
}

void VoteWorld::measure(VoteMember& m) {
  vote::Claim claim = m.claim;
  claim.uptime = m.clock.local(now()) - m.started + m.boast;
  claim.experience = m.experience + claim.uptime;
  deliver(m, vote::Measured{std::move(claim)});
}

void VoteWorld::keep_measuring(VoteMember& m) {
  timeline_.after(lease(), [this, &m, life = m.life] {
    if (!m.up || m.life != life) return;
    measure(m);
    keep_measuring(m);
  });
}

void VoteWorld::step(VoteMember& m, const vote::Event& event) {
  ++events_;
  const vote::Record before = m.elector->record();
  vote::Effects effects;
  m.elector->step(m.clock.local(now()), event, effects);
  const vote::Record& after = m.elector->record();
  const bool started = std::holds_alternative<vote::Start>(event);
  if (!started && (after.term < before.term || after.promised < before.promised) && !after.lost) {
    checker_.fail("I7: a term goes back", now());
  }
  for (const vote::Effect& effect : effects) carry_out(m, effect);
  set_wake(m, m.elector->wake());
}

void VoteWorld::carry_out(VoteMember& m, const vote::Effect& effect) {
  expect_evidence(effect);
  if (const auto* one = std::get_if<vote::Send>(&effect)) {
    tell(m, one->message, one->to);
  } else if (const auto* all = std::get_if<vote::Broadcast>(&effect)) {
    tell(m, all->message, vote::kNobody);
  } else if (const auto* writing = std::get_if<vote::Persist>(&effect)) {
    persist(m, writing->record);
  } else if (const auto* got = std::get_if<vote::Elected>(&effect)) {
    elected(m, *got);
  } else if (std::holds_alternative<vote::Renewed>(effect)) {
    work_->renewed(m, m.elector->stopped_by());
  } else if (const auto* draining = std::get_if<vote::Drain>(&effect)) {
    if (tracing_) say(m, "drains: " + draining->cause);
    work_->drain(m, calm_ ? Duration::zero() : lease() * 2);
  } else if (const auto* ended = std::get_if<vote::TermEnded>(&effect)) {
    work_->term_ended(m, *ended);
  } else if (const auto* keys = std::get_if<vote::Reconstruct>(&effect)) {
    find_keys(m, keys->term);
  } else if (!tracing_) {
    return;
  } else if (const auto* changed = std::get_if<vote::AdminChanged>(&effect)) {
    say(m, "sees admin " + std::to_string(changed->new_admin.value()) + " in term " +
               std::to_string(changed->term.value()) + ": " + changed->evidence);
  } else if (const auto* over = std::get_if<vote::ElectionComplete>(&effect)) {
    say(m, "election of term " + std::to_string(over->term.value()) + " won by " +
               std::to_string(over->winner.value()) + ": " + over->why);
  } else if (const auto* state = std::get_if<vote::StateChanged>(&effect)) {
    say(m, std::string(to_string(state->to)) + ": " + state->why);
  } else if (const auto* refused = std::get_if<vote::Refused>(&effect)) {
    say(m, "does not listen to " + std::to_string(refused->from.value()) + ": " + refused->why);
  } else if (const auto* denied = std::get_if<vote::Denied>(&effect)) {
    say(m, "denies: " + denied->why);
  } else if (const auto* note = std::get_if<vote::Note>(&effect)) {
    say(m, note->text);
  }
}

// I17: whoever reads the log must learn why.
void VoteWorld::expect_evidence(const vote::Effect& effect) {
  const auto* ended = std::get_if<vote::TermEnded>(&effect);
  const auto* drain = std::get_if<vote::Drain>(&effect);
  const auto* changed = std::get_if<vote::AdminChanged>(&effect);
  const auto* state = std::get_if<vote::StateChanged>(&effect);
  const auto* over = std::get_if<vote::ElectionComplete>(&effect);
  const auto* refused = std::get_if<vote::Refused>(&effect);
  const bool silent = (ended != nullptr && ended->why.empty()) || (drain != nullptr && drain->cause.empty()) ||
                      (changed != nullptr && changed->evidence.empty()) || (state != nullptr && state->why.empty()) ||
                      (over != nullptr && over->why.empty()) || (refused != nullptr && refused->why.empty());
  if (silent) checker_.fail("I17: a decision without evidence", now());
}

// The key of the admin is put together, sooner or later or never.
void VoteWorld::find_keys(VoteMember& m, election::Term term) {
  const bool never = !keys_are_there_ && prng().chance(0.3);
  if (never) return;
  const bool ok = keys_are_there_ || prng().chance(0.5);
  const Duration takes = keys_are_there_ ? network_->slowest() * 2 : lease();
  timeline_.after(draw(network_->quickest(), takes), [this, &m, term, ok, life = m.life] {
    if (m.life == life) deliver(m, vote::KeysReady{term, ok, ok ? "" : "too few key shares"});
  });
}

}  // namespace bellwether::sim
