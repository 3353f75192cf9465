// One node that leads: testdata/duty_*.txt are the scripts. Its register and its payloads answer at once unless the
// script holds them; the answer comes only then.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>

#include "core/base/fields_testing.h"
#include "core/base/transcript_testing.h"
#include "election/context/duty_leader.h"
#include "election/context/sha256_testing.h"

namespace bellwether::context_lead {

static std::string to_text(RequestId id) { return std::to_string(id.low); }
// 0: none.
static bool fill(std::string_view text, RequestId& id) {
  const bool good = fields::read(text, id.low);
  return id.high = id.low == 0 ? 0 : 1, good;
}
static std::string to_text(AttemptFence fence) {
  return fields::words(fence.epoch) + ":" + std::to_string(fence.attempt);
}
// How the word "submit" goes on.
struct Submission {
  std::optional<RequestId> id;  // else the next one
  uint8_t priority = 0;
  std::size_t size = 0;  // of a large payload
  Duration later;        // by the clock of who submits
};
static std::string to_text(TransferId id) { return fields::words(id.epoch) + ":" + std::to_string(id.number); }
static std::string to_text(const StateIssue& issue) { return std::string(to_string(issue.field)); }
static std::string to_text(const Request& request) {
  return fields::words(request.id) + " " + fields::words(request.payload);
}
static std::string to_text(const LiveRequest& live) {
  return fields::words(live.id) + (live.is_active() ? " active " + fields::words(live.fence()) : " queued");
}
static std::string to_text(const FinishedRequest& one) {
  return fields::words(one.id) + " " + fields::words(one.outcome) + " " + fields::words(one.fence) +
         (one.reason.empty() ? "" : " " + fields::words(one.reason));
}
static std::string to_text(const WriteRegister& write) {
  const RequestQueue queue = *RequestQueue::decode(write.value);
  return "write_register " + std::to_string(write.ticket) + " epoch=" + fields::words(queue.epoch()) +
         " live=" + fields::words(queue.live()) + " finished=" + fields::words(queue.finished());
}
static std::string to_text(const StateOffer& offer) {
  const ReadState read = read_state(offer.state, sha256, {fields::kWallBegins.unix_ns + Duration::hours(1).ns()}, {});
  const FailoverState& state = read.state;
  return "state_offer " + fields::words(offer.id) + " version=" + std::to_string(state.state_version) +
         " queued=" + fields::words(state.queued_requests) + " active=" + fields::words(state.active_jobs) +
         " completed=" + fields::words(state.completed_jobs) + " reason=" + fields::words(state.transfer_reason) +
         " took=" + fields::words(state.transfer_duration) + " issues=" + fields::words(read.validation.issues);
}

namespace {

using fields::parsed;
using fields::set_all;
using transcript::Lines;

class DutyStory {
 public:
  DutyStory() { make(7); }

  Lines say(const std::string& line) {
    told_.clear();
    Lines words = transcript::words_of(line);
    NodeId from = kNobody;
    if (words[0].ends_with(':')) {
      EXPECT_TRUE(fields::read(words[0].substr(0, words[0].size() - 1), from)) << words[0];
      words.erase(words.begin());
    }
    const std::string verb = words[0];
    words.erase(words.begin());
    const bool known = from == kNobody ? does(verb, words) || happens(verb, words) : hears(from, verb, words);
    EXPECT_TRUE(known) << "nothing is called " << verb;
    return std::move(told_);
  }

 private:
  static constexpr NodeId kNobody{};

  void make(uint64_t seed) {
    config_.members = {NodeId(1), NodeId(2), NodeId(3)};
    config_.digest = sha256;
    kernel_ = std::make_unique<DutyLeader>(config_, seed);
    duty_ = kernel_->duty();
  }
  Moment at() const { return {now_, {fields::kWallBegins.unix_ns + (now_ - fields::kBegins).ns()}}; }

  bool does(const std::string& verb, const Lines& words) {
    if (verb == "wait") {
      words.at(0) == "check" ? wait_for_check() : wait(parsed<Duration>(words.at(0)));
    } else if (verb == "lead") {
      lead(words);
    } else if (verb == "transferring") {
      lead(words);
      asks("transfer", {"2"});
      EXPECT_EQ(kernel_->duty(), Duty::kHandingOver);
      told_.clear();
    } else if (verb == "another_term") {
      step(Elected{Epoch(++epoch_)});
      wait(Duration::seconds(5));
    } else if (verb == "settings") {
      for (const std::string& word : words) change_setting(word);
      make(7);
    } else if (verb == "node") {
      config_.self = parsed<NodeId>(words.at(0));
      make(8);
    } else if (verb == "health") {
      health_.nodes.clear();
      for (const std::string& word : words) {
        health_.nodes[parsed<NodeId>(word.substr(0, word.find('=')))] = parsed<double>(word.substr(word.find('=') + 1));
      }
    } else if (verb == "hold") {
      (words.at(0) == "register" ? holds_register_ : holds_payloads_) = true;
    } else if (verb == "register_has") {
      value_ = words.at(0);
    } else if (verb == "register_of") {
      RequestQueue queue;
      queue.open(parsed<NodeId>(words.at(0)), parsed<Epoch>(words.at(1)));
      value_ = queue.encode();
    } else if (verb == "status") {
      told_.push_back(fields::words_of_members(kernel_->status(at().wall)));
    } else if (verb == "cluster_health") {
      told_.push_back(fields::words_of_members(kernel_->health()));
    } else if (verb == "register") {
      told_.push_back(value_.empty() ? "empty" : fields::words(WriteRegister{0, value_, {}}));
    } else if (verb == "end") {
      end(words);
    } else if (verb == "answer") {
      answer(words.empty() ? 2 : parsed<std::size_t>(words[0]));
    } else {
      return asks(verb, words);
    }
    return true;
  }
  // What is asked of it.
  bool asks(const std::string& verb, const Lines& words) {
    if (verb == "register_manager") {
      ManagerConfig manager{"command", 1};
      set_all(manager, words);
      step(ManagerRegistered{manager});
    } else if (verb == "submit") {
      Submission wanted;
      set_all(wanted, words);
      Request request{wanted.id.value_or(RequestId{1, ++last_}), wanted.priority, at().wall, "do it"};
      request.submitted_at.unix_ns += wanted.later.ns();
      if (wanted.size > 0) request.payload = std::string(wanted.size, 'x');
      step(Submit{std::max<uint64_t>(request.id.low, 1), request});  // a ticket for one without an id, too
    } else if (verb == "transfer") {
      step(Transfer{1, parsed<NodeId>(words.at(0)), "maintenance", "operator"});
    } else if (verb == "start") {
      step(StartGeneration{1});
    } else if (verb == "stop") {
      step(StopGeneration{1, "a test"});
    } else {
      return false;
    }
    return true;
  }
  bool happens(const std::string& verb, const Lines& words) {
    Event event;
    const bool found = fields::choose(event, verb, [&](auto& made) { set_all(made, words); });
    if (found) step(event);
    return found;
  }
  // Another node says it. Its "offer" is the state of a leader.
  bool hears(NodeId from, const std::string& verb, const Lines& words) {
    Message message;
    if (verb == "offer") {
      FailoverState state;
      state.leader = NodeId(2);
      state.term = Epoch(9);
      state.node_assignments = {{"n1", {"index"}}};
      set_all(state, words);
      message = StateOffer{{Epoch(9), 1}, *encode(state, sha256)};
    } else if (!fields::choose(message, verb, [&](auto& made) { set_all(made, words); })) {
      return false;
    }
    step(Heard{from, message});
    return true;
  }

  // Under epoch 5, and generates.
  void lead(const Lines& words) {
    asks("register_manager", words);
    step(Elected{Epoch(epoch_)});
    wait(Duration::seconds(5));
    EXPECT_EQ(kernel_->duty(), Duty::kGenerating);
    told_.clear();
  }
  void change_setting(std::string_view word) {
    const std::size_t is = word.find('=');
    for (const ContextSetting& one : context_settings()) {
      if (one.name != word.substr(0, is)) continue;
      std::visit([&](auto member) { EXPECT_TRUE(fields::read(word.substr(is + 1), config_.settings.*member)); },
                 one.member);
      return;
    }
    ADD_FAILURE() << "there is no setting " << word;
  }
  // The attempt that began last, of this request or of all.
  void end(const Lines& words) {
    const auto run = std::find_if(runs_.rbegin(), runs_.rend(), [&](const RunJob& one) {
      return words.at(0) == "last" || words[0] == fields::words(one.request.id) ||
             words[0] == fields::words(one.request.id) + "@" + fields::words(one.fence);
    });
    ASSERT_NE(run, runs_.rend()) << "it does not run";
    JobEnded ended{run->request.id, run->fence, JobEnded::End::kDone, "no luck"};
    set_all(ended, {words.begin() + 1, words.end()});
    step(ended);
  }
  // What the target would answer to the last offer, of which `count` arrive.
  void answer(std::size_t count) {
    ASSERT_TRUE(offer_) << "nothing was offered";
    std::vector<Message> answers = target_.on_offer(at(), NodeId(1), *offer_, "");
    answers.resize(std::min(count, answers.size()));
    for (const Message& one : answers) step(Heard{NodeId(2), one});
  }

  void wait(Duration span) {
    const Instant end = now_ + span;
    while (kernel_->wake() <= end) {
      now_ = std::max(now_, kernel_->wake());
      at_ = "at " + fields::words(now_) + ": ";
      step(Tick{});
    }
    now_ = end;
    at_.clear();
  }
  void wait_for_check() {
    for (const std::size_t before = checks_; checks_ == before;) wait(Duration::seconds(1));
  }
  void step(const Event& event) {
    Effects out;
    kernel_->step(at(), event, out);
    carry_out(std::move(out));
  }
  void carry_out(Effects effects) {
    for (const Effect& effect : effects) {
      const std::optional<Event> at_once = answer_to(effect);
      if (!at_once) told_.push_back(at_ + fields::words(effect));
      if (const auto* run = std::get_if<RunJob>(&effect)) runs_.push_back(*run);
      if (const auto* sent = std::get_if<Send>(&effect)) {
        if (const auto* offer = std::get_if<StateOffer>(&sent->message)) offer_ = *offer;
      }
      if (at_once) step(*at_once);
    }
    if (std::exchange(duty_, kernel_->duty()) != kernel_->duty()) {
      told_.push_back(at_ + "(" + std::string(to_string(duty_)) + ")");
    }
  }
  // Of what is not held.
  std::optional<Event> answer_to(const Effect& effect) {
    if (const auto* take = std::get_if<TakeRegister>(&effect); take != nullptr && !holds_register_) {
      return RegisterTaken{take->ticket, value_};
    }
    if (const auto* write = std::get_if<WriteRegister>(&effect); write != nullptr && !holds_register_) {
      value_ = write->value;
      return RegisterWritten{write->ticket};
    }
    if (const auto* keep = std::get_if<KeepPayload>(&effect)) {
      payloads_[keep->id] = keep->payload;
      if (!holds_payloads_) return PayloadKept{keep->id, true, {}};
    }
    if (const auto* fetch = std::get_if<FetchPayload>(&effect); fetch != nullptr && !holds_payloads_) {
      return PayloadFetched{fetch->id, fetch->fence, PayloadFetched::Found::kHere, payloads_[fetch->id], {}};
    }
    if (std::holds_alternative<CheckHealth>(effect)) return ++checks_, health_;
    return std::nullopt;
  }

  DutyConfig config_{NodeId(1), {}, {}, nullptr};
  std::unique_ptr<DutyLeader> kernel_;
  Succession target_{ContextSettings(), NodeId(2), sha256};
  Duty duty_ = Duty::kNotLeading;
  Instant now_ = fields::kBegins;
  std::string value_;
  std::map<RequestId, std::string> payloads_;
  HealthReport health_{{{NodeId(1), 1.0}, {NodeId(2), 1.0}, {NodeId(3), 0.9}}};
  bool holds_register_ = false;
  bool holds_payloads_ = false;
  uint64_t epoch_ = 5;
  uint64_t last_ = 0;  // request that was submitted
  std::size_t checks_ = 0;
  std::vector<RunJob> runs_;
  std::optional<StateOffer> offer_;
  std::string at_;
  Lines told_;
};

void expect_duty_stories(const std::string& name) {
  transcript::expect_stories<DutyStory>("src/election/context/testdata/duty_" + name + ".txt");
}
TEST(DutyLeader, leads) { expect_duty_stories("leader"); }
TEST(DutyLeader, runs_jobs) { expect_duty_stories("jobs"); }
TEST(DutyLeader, hands_over) { expect_duty_stories("handover"); }
TEST(DutyLeader, succeeds_another_leader) { expect_duty_stories("succession"); }

}  // namespace
}  // namespace bellwether::context_lead
