// The events in a group of electors, as text: the inputs (<) and the effects of each step (>), with the time since the
// transcript began. Endless repetitions appear once: ticks that change nothing, heartbeats and their answers after the
// first of a term, renewals, and the greetings of a start unless the transcript is about them.
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <tuple>

#include "core/base/units.h"
#include "election/quorum/group_testing.h"

namespace bellwether::quorum {

class Transcript final : public GroupWatcher {
 public:
  // `aside` is written before what happens.
  explicit Transcript(Group& group, bool greetings = false) : group_(group), greetings_(greetings), began_(group.now) {
    group_.watcher = this;
  }
  ~Transcript() override { group_.watcher = nullptr; }
  Transcript(const Transcript&) = delete;
  Transcript& operator=(const Transcript&) = delete;

  const std::string& text() const { return text_; }
  void aside(const std::string& words) { text_ += (text_.empty() ? "# " : "\n# ") + words + "\n"; }

  void stepped(uint64_t id, const Event& event, const Effects& effects) override {
    std::string shown;
    for (const Effect& effect : effects) {
      const std::string words = is_routine(id, effect) ? std::string() : effect_format(effect);
      if (!words.empty()) shown += "                > " + words + "\n";
    }
    const std::string cause = event_format(event);
    if (shown.empty() && (cause.empty() || is_routine(event))) return;
    char head[64];
    std::snprintf(head, sizeof head, "%9.3f  m%llu  ", (group_.now - began_).seconds_f(),
                  static_cast<unsigned long long>(id));
    text_ += head + std::string("< ") + (cause.empty() ? "time" : cause) + "\n" + shown;
  }

 private:
  static std::string name(MemberId id) { return id == kNobody ? "nobody" : "m" + std::to_string(id.value()); }
  static std::string show(Term term) { return "term " + std::to_string(term.value()); }
  static std::string show(const std::vector<MemberId>& members) {
    std::string out;
    for (const MemberId id : members) out += (out.empty() ? "" : " ") + name(id);
    return out.empty() ? "none" : out;
  }
  static std::string show(const Configuration& members) {
    return show(members.voters) + (members.joint() ? ", to be " + show(members.next) : std::string());
  }
  static std::string show(const Record& record) {
    return std::to_string(record.version) + ": " + show(record.term) + ", vote for " + name(record.vote) +
           ", members " + show(record.members) + (record.lost ? ", lost" : "");
  }
  static std::string again(Duration after) {
    return after == Duration::zero() ? std::string() : "; ask again after " + format_duration(after);
  }
  static std::string verdict(Refusal refusal, Duration after) {
    return refusal == Refusal::kNone ? "yes" : std::string("no, ") + to_string(refusal) + again(after);
  }

  static std::string words_of(const Message& message) {
    return std::visit([&](const auto& body) { return body_format(message, body); }, message.body);
  }
  static std::string body_format(const Message&, const Greeting& body) {
    return body.challenge == 0 ? "who knows more of me than I do?" : "it is me, and I am alive";
  }
  static std::string body_format(const Message&, const GreetingAnswer& body) {
    return (body.challenge != 0 ? "say that again" : "welcome") + std::string("; the newest record of yours was ") +
           std::to_string(body.newest_record);
  }
  static std::string body_format(const Message&, const Superseded&) { return "another process answers for you"; }
  static std::string body_format(const Message&, const WhoAreYou&) { return "who are you?"; }
  static std::string body_format(const Message&, const PreVote& body) {
    return "would you vote for me in " + show(body.proposed) + "?";
  }
  static std::string body_format(const Message&, const PreVoteAnswer& body) {
    return "would vote: " + verdict(body.refusal, body.again_after);
  }
  static std::string body_format(const Message& message, const Vote& body) {
    return "vote for me in " + show(message.term) +
           (body.permission ? ", " + name(body.permission->leader) + " permits it" : std::string());
  }
  static std::string body_format(const Message& message, const VoteAnswer& body) {
    return "vote in " + show(message.term) + ": " + verdict(body.refusal, body.again_after);
  }
  static std::string body_format(const Message& message, const Heartbeat& body) {
    return "heartbeat in " + show(message.term) + ", lease " + format_duration(body.lease);
  }
  static std::string body_format(const Message& message, const HeartbeatAnswer& body) {
    return body.promised ? "promise in " + show(message.term) : "no promise, " + show(message.term) + " is later";
  }
  static std::string body_format(const Message& message, const StandNow&) {
    return "stand now: my work in " + show(message.term) + " has stopped";
  }
  static std::string body_format(const Message& message, const Resigned&) {
    return "resigned from " + show(message.term);
  }
  static std::string body_format(const Message&, const Configure& body) { return "members " + show(body.members); }

  // Empty: nothing but the time.
  static std::string event_format(const Event& event) {
    if (const auto* start = std::get_if<Start>(&event)) {
      if (start->found == Start::Found::kNew) return "starts, and was never there before";
      if (start->found == Start::Found::kUnreadable) return "starts, its record cannot be read";
      return "starts with record " + show(start->record);
    }
    if (const auto* received = std::get_if<Received>(&event)) {
      return "from " + name(received->message.from) + ": " + words_of(received->message);
    }
    if (const auto* done = std::get_if<Persisted>(&event)) {
      return "record " + std::to_string(done->version) + (done->ok ? " is durable" : " could not be written");
    }
    if (std::holds_alternative<WorkStopped>(event)) return "the work has stopped";
    if (std::holds_alternative<Synced>(event)) return "has the state of the group";
    if (const auto* wish = std::get_if<StepDown>(&event)) return "shall step down: " + wish->cause;
    if (const auto* suspected = std::get_if<LeaderSuspected>(&event)) return "suspects " + name(suspected->leader);
    if (const auto* change = std::get_if<ChangeMembers>(&event)) {
      const bool add = change->change.kind == MemberChange::Kind::kAdd;
      return std::string("shall ") + (add ? "add " : "remove ") + name(change->change.member);
    }
    return {};
  }

  static std::string effect_format(const Effect& effect) {
    if (const auto* persist = std::get_if<Persist>(&effect)) return "write record " + show(persist->record);
    if (const auto* sent = std::get_if<Send>(&effect)) return "to " + name(sent->to) + ": " + words_of(sent->message);
    if (const auto* won = std::get_if<Elected>(&effect)) {
      return "ELECTED, " + show(Term(won->epoch.value())) + ", for " + format_duration(won->ends - won->since);
    }
    if (const auto* drain = std::get_if<Drain>(&effect)) return "drain: " + drain->cause;
    if (const auto* ended = std::get_if<TermEnded>(&effect)) {
      return "TERM ENDED, " + show(Term(ended->epoch.value())) + ", " + to_string(ended->reason) + ": " + ended->why;
    }
    if (const auto* changed = std::get_if<LeaderChanged>(&effect)) {
      return "the leader is " + name(changed->leader) + ": " + changed->evidence;
    }
    if (const auto* members = std::get_if<MembersChanged>(&effect)) return "the members are " + show(members->members);
    if (const auto* refused = std::get_if<ChangeRefused>(&effect)) return "no change: " + refused->why;
    if (const auto* note = std::get_if<Note>(&effect)) return (note->warning ? "WARNING: " : "note: ") + note->text;
    if (std::holds_alternative<Left>(effect)) return "stands no more";
    return {};
  }

  bool is_greeting(const Body& body) const {
    return !greetings_ && (std::holds_alternative<Greeting>(body) || std::holds_alternative<GreetingAnswer>(body));
  }
  // Of those, only the first of a term for each sender and receiver appears.
  bool is_repeated(uint64_t from, uint64_t to, const Message& message) {
    const bool answer = std::holds_alternative<HeartbeatAnswer>(message.body);
    if (!answer && !std::holds_alternative<Heartbeat>(message.body)) return false;
    return !told_.insert({from, to, message.term, answer}).second;
  }
  bool is_routine(uint64_t id, const Effect& effect) {
    if (std::holds_alternative<Renewed>(effect)) return true;
    const auto* sent = std::get_if<Send>(&effect);
    if (sent == nullptr) return false;
    return is_greeting(sent->message.body) || is_repeated(id, sent->to.value(), sent->message);
  }
  // When it changes nothing.
  static bool is_routine(const Event& event) {
    const auto* received = std::get_if<Received>(&event);
    if (received == nullptr) return std::holds_alternative<Persisted>(event);
    return !std::holds_alternative<StandNow>(received->message.body);
  }

  Group& group_;
  bool greetings_;
  Instant began_;
  std::string text_;
  std::set<std::tuple<uint64_t, uint64_t, Term, bool>> told_;
};

}  // namespace bellwether::quorum
