// One job in a small cluster: testdata/job_*.txt have the events, and the resulting states of the job, its workflows
// and its assignments. A step of time is 100 ms.
#include <gtest/gtest.h>
#include <memory>

#include "core/base/fields_testing.h"
#include "core/base/transcript_testing.h"
#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/job_testing.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::dispatch {

// The arguments of the word "workflow".
struct WorkflowWords {
  std::string name;
  Duration length;
  std::vector<uint16_t> depends;
  uint32_t vus = 1000;
  bool once = false;  // no load, runs once
  std::optional<plan::Iterations> counted;
  std::optional<uint32_t> told_vus;
  bool rebalance = false;
  plan::OnOvertime on_overtime = plan::OnOvertime::kKill;
  std::optional<Duration> timeout;
  std::vector<std::string> provides;
  std::vector<uint16_t> lists;  // of the provided values, those with one of each user
  std::vector<uint16_t> uses;   // values of these workflows
  bool is_teardown = false;
};
// The arguments of the word "ask".
struct AskWords {
  AssignmentId assignment{1};
  double progress = 0;
  bool suspect = false;
};
// The arguments of the word "the": the state of this cluster.
struct ClusterWords {
  bool register_stands = true;
  bool keep_to_timeouts = true;
  bool loses_context = false;
  bool provides = true;
  Fate take_over = Fate::kArrives;
  Fate go = Fate::kArrives;
  Fate hand_over = Fate::kArrives;
  std::optional<uint16_t> endless;  // this workflow runs until an order ends it
};

static std::string to_text(const JobEvent& event) { return event.kind + ": " + event.detail; }

namespace {

using fields::parsed;
using fields::set_all;
using transcript::Lines;

std::string text(const plan::Loss& loss) {
  return "lost " + fields::words(loss.ratio) + " from " + fields::words(loss.from) + " to " + fields::words(loss.to) +
         ": " + loss.cause;
}

class JobStory {
 public:
  Lines say(const std::string& line) {
    told_.clear();
    Lines words = transcript::words_of(line);
    const bool quietly = words[0] == "quietly";
    if (quietly) words.erase(words.begin());
    const Lines rest(words.begin() + 1, words.end());
    EXPECT_TRUE(prepares(words[0], rest) || happens(words[0], rest) || asks(words[0], rest))
        << "nothing is called " << words[0];
    if (world_) tell_changes("");
    if (quietly) told_.clear();
    return std::move(told_);
  }

 private:
  // --- before the begin
  bool prepares(const std::string& verb, const Lines& rest) {
    if (verb == "workflow") {
      spec_.push_back(workflow(rest));
    } else if (verb == "rules") {
      rules_.timeout = parsed<Duration>(rest.at(0).substr(rest[0].find('=') + 1));
    } else if (verb == "seed") {
      seed_ = parsed<uint64_t>(rest.at(0));
    } else if (verb == "worker") {
      if (!world_) make();
      world_->add(rest.at(0), parsed<uint32_t>(rest.at(1)));
      set_all(world_->worker(rest[0]), {rest.begin() + 2, rest.end()});
    } else {
      return false;
    }
    return true;
  }
  static WorkflowSpec workflow(const Lines& rest) {
    WorkflowWords words;
    words.name = rest.at(0);
    words.length = parsed<Duration>(rest.at(1));
    set_all(words, {rest.begin() + 2, rest.end()});
    WorkflowSpec spec = load_spec(words.name, words.length, words.depends);
    spec.vus = words.once ? 1 : words.vus;
    spec.is_test = !words.once;
    spec.counted = words.counted;
    spec.told_vus = words.told_vus;
    spec.rebalance = words.rebalance;
    spec.on_overtime = words.on_overtime;
    spec.timeout = words.timeout;
    spec.provides = words.provides;
    spec.lists.assign(words.lists.begin(), words.lists.end());
    for (const uint16_t from : words.uses) spec.uses.push_back({from, 0, "token", true});
    spec.is_teardown = words.is_teardown;
    return spec;
  }
  void make() {
    world_ = std::make_unique<JobWorld>(spec_, seed_, rules_);
    before_ = world_->record();
  }

  // --- events
  bool happens(const std::string& verb, const Lines& rest) {
    if (!world_) make();
    if (verb == "begin") {
      world_->begin();
    } else if (verb == "begins") {
      EXPECT_TRUE(world_->begins()) << "it does not begin";
      before_ = world_->record();
      tell_assignments();
    } else if (verb == "wait") {
      const Instant end = world_->now() + parsed<Duration>(rest.at(0));
      while (world_->now() < end) step();
    } else if (verb == "run") {
      const Instant end = world_->now() + parsed<Duration>(rest.at(0));
      while (world_->now() < end && !world_->job().over()) step();
      tell_end();
    } else if (verb == "until") {
      const auto found = [&] {
        return std::any_of(told_.begin(), told_.end(),
                           [&](const std::string& one) { return one.find(rest.at(0)) != std::string::npos; });
      };
      for (int i = 0; i < 3'000 && !found(); ++i) step();
      EXPECT_TRUE(found()) << "it does not come to: " << rest[0];
    } else if (verb == "is") {
      set_all(world_->worker(rest.at(0)), {rest.begin() + 1, rest.end()});
    } else if (verb == "the") {
      set_all(cluster_, rest);
      follow_cluster();
    } else if (verb == "die") {
      world_->die(rest.at(0));
    } else if (verb == "restart") {
      world_->restart(rest.at(0));
    } else if (verb == "crash") {
      world_->crash(parsed<AssignmentId>(rest.at(0)));
    } else if (verb == "kill") {
      world_->crash(parsed<AssignmentId>(rest.at(0)), AssignmentOutcome::kLost);
    } else if (verb == "forget_users") {
      each_assignment([](const std::string&, AssignmentId, TestAssignment& one) { one.vus = 5; });
    } else if (verb == "owner_dies") {
      world_->forget_owner();
    } else if (verb == "another_owner") {
      world_->replace_owner();
    } else {
      return false;
    }
    return true;
  }
  void follow_cluster() {
    world_->register_stands = cluster_.register_stands;
    world_->keep_to_timeouts = cluster_.keep_to_timeouts;
    world_->loses_context = cluster_.loses_context;
    world_->provides = cluster_.provides;
    world_->take_over_fate = [this](AssignmentId) { return cluster_.take_over; };
    world_->go_fate = [this](AssignmentId) { return cluster_.go; };
    world_->hand_over_fate = [this](AssignmentId) { return cluster_.hand_over; };
    world_->ends_itself = [](uint16_t) { return true; };
    if (cluster_.endless == 0) world_->ends_itself = [](uint16_t workflow) { return workflow != 0; };
    if (cluster_.endless == 2) world_->ends_itself = [](uint16_t workflow) { return workflow != 2; };
  }
  void step() {
    world_->step(kStep);
    tell_changes("at " + fields::after(world_->now() - kJobBegan) + ": ");
    int tears = 0;
    int others = 0;
    each_assignment([&](const std::string&, AssignmentId, const TestAssignment& one) {
      if (one.phase == AssignmentPhase::kRunning) ++(spec_[one.workflow].is_teardown ? tears : others);
    });
    EXPECT_TRUE(tears == 0 || (tears == 1 && others == 0)) << "a teardown runs once, and alone";
  }

  // --- requests
  bool asks(const std::string& verb, const Lines& rest) {
    JobEffects out;
    if (verb == "stop" || verb == "cancel") {
      JobStop stop{JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"};
      std::set<uint16_t> workflows;
      for (const std::string& word : rest) {
        if (verb == "cancel" && word[0] >= '0' && word[0] <= '9') {
          workflows.insert(parsed<uint16_t>(word));
        } else {
          set_all(stop, {word}, "number");
        }
      }
      world_->job().stop(world_->now(), stop, workflows, out);
    } else if (verb == "scale") {
      const Status done =
          world_->job().scale(world_->now(), rest.size() > 1 ? rest[1] : "", parsed<uint32_t>(rest.at(0)), "ann", out);
      if (!done) told_.push_back(fields::named(done.error()));
    } else if (verb == "evict") {
      world_->job().evicted(world_->now(), parsed<AssignmentId>(rest.at(0)), "stuck for 60 s", out);
    } else if (verb == "ask") {
      AskWords words;
      set_all(words, rest, "assignment");
      ExtendMessage message{"job", words.assignment, Duration::seconds(5), {}};
      message.request.progress = words.progress;
      told_.push_back(fields::named(world_->job().more_time(world_->now(), message, words.suspect, out)));
    } else if (verb == "hearing") {
      told_.push_back(
          fields::words(world_->job().hearing(parsed<AssignmentId>(rest.at(0)), parsed<uint64_t>(rest.at(1)))));
    } else if (verb == "assignments") {
      tell_assignments();
    } else if (verb == "workers") {
      tell_workers();
    } else if (verb == "measured") {
      tell_measured();
    } else if (verb == "given") {
      tell_given();
    } else {
      return false;
    }
    world_->carry_out(out);
    return true;
  }
  void tell_assignments() {
    for (const AssignmentRecord& assignment : world_->record().assignments) {
      if (is_live(assignment)) told_.push_back(text(assignment));
    }
  }
  void tell_workers() {
    each_assignment([&](const std::string& worker, AssignmentId id, const TestAssignment& one) {
      std::string line = worker + ": assignment " + fields::words(id) + " " + fields::words(one.phase);
      if (one.phase == AssignmentPhase::kRunning) line += " clock=" + fields::after(one.clock - kJobBegan);
      if (one.vus && spec_[one.workflow].told_vus) line += " vus=" + std::to_string(*one.vus);
      told_.push_back(line);
    });
    if (told_.empty()) told_.emplace_back("nothing");
  }
  template <class Each>
  void each_assignment(Each each) {
    for (auto& [name, worker] : world_->workers()) {
      for (auto& [id, assignment] : worker.assignments) {
        if (worker.alive) each(name, id, assignment);
      }
    }
  }
  void tell_measured() { told_.push_back(measured()); }
  std::string measured() const {
    std::string out;
    for (uint16_t w = 0; w < spec_.size(); ++w) {
      uint64_t twice = 0;
      for (const auto& part : world_->measured(w)) twice += part.twice;
      out += (out.empty() ? "" : ", ") + spec_[w].name + " " + std::to_string(seconds_of(*world_, w)) + " s of " +
             std::to_string(world_->record().workflows[w].parts) + " parts";
      if (world_->record().workflows[w].retries != 0) {
        out += " retried " + std::to_string(world_->record().workflows[w].retries);
      }
      if (twice != 0) out += ", twice " + std::to_string(twice);
    }
    return out;
  }
  void tell_given() {
    for (const auto& [id, order] : world_->orders()) {
      for (const plan::Given& one : order.given) {
        told_.push_back("assignment " + fields::words(id) + " version=" + std::to_string(order.context_version) + " " +
                        (one.list.empty() ? fields::words(one.text) : fields::words(one.list)));
      }
    }
    if (told_.empty()) told_.emplace_back("nothing");
  }
  void tell_end() {
    if (!world_->job().over()) return told_.push_back("it is not over");
    std::string out = "over, elapsed=" + fields::words(world_->record().elapsed) + ", " + measured();
    if (world_->record().stop) out += ", stopped by " + fields::words(world_->record().stop->cause);
    if (world_->iterations_begun > 0) out += ", iterations " + std::to_string(world_->iterations_begun);
    if (world_->looks_without_load > 0) out += ", without load " + std::to_string(world_->looks_without_load);
    if (world_->looks_at_double_load > 0) out += ", with double load " + std::to_string(world_->looks_at_double_load);
    if (!world_->all_cores_free()) out += ", CORES ARE TAKEN";
    if (!world_->retired()) out += ", NOT RETIRED";
    told_.push_back(out);
  }

  // --- changes
  static std::string text(const AssignmentRecord& assignment) {
    std::string out = "assignment " + fields::words(assignment.id) + " on " + assignment.worker + " parts " +
                      std::to_string(assignment.parts.first) + "+" + std::to_string(assignment.parts.count) + " " +
                      fields::words(assignment.state);
    if (assignment.workflow != 0) out += " workflow=" + std::to_string(assignment.workflow);
    if (assignment.squeeze) out += " squeeze";
    if (assignment.follows != AssignmentId()) out += " follows=" + fields::words(assignment.follows);
    if (assignment.from != 0) out += " from=" + std::to_string(assignment.from);
    if (assignment.until != 0) out += " until=" + std::to_string(assignment.until);
    if (assignment.handed_over) out += " handed_over";
    if (assignment.iterations != 0) out += " iterations=" + std::to_string(assignment.iterations);
    if (assignment.extensions != 0) {
      out += " extensions=" + std::to_string(assignment.extensions) + " extended=" + fields::words(assignment.extended);
    }
    if (assignment.end && assignment.state >= AssignmentState::kEnded)
      out += " " + fields::words(assignment.end->outcome);
    return out;
  }
  // The new words of its state, and, after a minus, the former ones; nothing without a change.
  static std::string news(const AssignmentRecord& before, const AssignmentRecord& now) {
    const Lines old_words = transcript::words_of(text(before));
    const Lines new_words = transcript::words_of(text(now));
    std::string out;
    const auto add = [&](const Lines& words, const Lines& others, const char* sign) {
      for (const std::string& word : words) {
        const bool in_both = std::find(others.begin(), others.end(), word) != others.end();
        const bool is_state = word.find('=') == std::string::npos;
        if (!in_both && (sign[1] == 0 || !is_state)) out += sign + word;
      }
    };
    add(new_words, old_words, " ");
    add(old_words, new_words, " -");
    return out.empty() ? out : "assignment " + fields::words(now.id) + out;
  }
  static std::string text(const std::string& name, std::string_view state, const std::string& why) {
    return name + " " + std::string(state) + (why.empty() ? "" : ": " + why);
  }
  void tell_changes(const std::string& at) {
    const JobRecord& now = world_->record();
    if (now.revision == before_.revision && world_->stops.empty()) return;
    Lines changes;
    for (const job_effect::Stop& stop : std::exchange(world_->stops, {})) changes.push_back(fields::named(stop));
    for (std::size_t i = 0; i < now.events.size(); ++i) {
      if (i >= before_.events.size()) changes.push_back(fields::words(now.events[i]));
    }
    for (std::size_t i = 0; i < now.losses.size(); ++i) {
      const bool known = i < before_.losses.size() && before_.losses[i] == now.losses[i];
      if (!known) changes.push_back(dispatch::text(now.losses[i]));
    }
    for (std::size_t i = 0; i < now.assignments.size(); ++i) {
      const std::string change =
          i < before_.assignments.size() ? news(before_.assignments[i], now.assignments[i]) : text(now.assignments[i]);
      if (!change.empty()) changes.push_back(change);
    }
    for (std::size_t w = 0; w < now.workflows.size(); ++w) {
      if (now.workflows[w].state == before_.workflows[w].state) continue;
      changes.push_back(text(spec_[w].name, to_string(now.workflows[w].state), now.workflows[w].why));
    }
    if (now.state != before_.state) changes.push_back(text("job", to_string(now.state), now.why));
    before_ = now;
    std::string line;
    for (const std::string& change : changes) line += (line.empty() ? at : "; ") + change;
    if (!line.empty()) told_.push_back(line);
  }

  static constexpr Instant kJobBegan = Instant::from_ns(1'000'000'000);

  JobSpec spec_;
  JobRules rules_;
  uint64_t seed_ = 1;
  ClusterWords cluster_;
  std::unique_ptr<JobWorld> world_;
  JobRecord before_;
  Lines told_;
};

void expect_job_stories(const std::string& name) {
  transcript::expect_stories<JobStory>("src/jobs/dispatch/testdata/job_" + name + ".txt");
}
TEST(JobKernel, hands_out_and_ends) { expect_job_stories("runs"); }
TEST(JobKernel, moves_assignments_without_a_gap) { expect_job_stories("moves"); }
TEST(JobKernel, spreads_onto_workers_that_come) { expect_job_stories("spread"); }
TEST(JobKernel, counts_iterations) { expect_job_stories("counted"); }
TEST(JobKernel, scales) { expect_job_stories("scaled"); }
TEST(JobKernel, keeps_to_its_time) { expect_job_stories("time"); }
TEST(JobKernel, passes_values_from_layer_to_layer) { expect_job_stories("layers"); }
TEST(JobKernel, passes_lists_from_layer_to_layer) { expect_job_stories("lists"); }
TEST(JobKernel, tears_down) { expect_job_stories("teardown"); }

// Cases that the stories cannot show, because their workers answer an offer at once and close streams by themselves.
class OneWorkersKernel : public testing::Test {
 protected:
  // One offered assignment on a worker of two cores.
  void SetUp() override {
    kernel_.begin(now_, out_);
    kernel_.workers_changed(now_, {{.name = "w1", .life = 1, .cores = 2, .free = 2, .takes_work = true}}, out_);
    keep();
    ASSERT_TRUE(has(job_effect::Offer{kAssignment}));
  }
  void keep() { kernel_.kept(now_, kernel_.record().revision, out_); }
  void run() {
    kernel_.offered(now_, kAssignment, OfferAnswer::kReady, {}, out_);
    keep();
    ASSERT_EQ(kernel_.find(kAssignment)->state, AssignmentState::kRunning);
    out_.clear();
  }
  template <class Effect>
  bool has(const Effect& effect) const {
    return std::any_of(out_.begin(), out_.end(), [&](const JobEffect& one) {
      const auto* const same = std::get_if<Effect>(&one);
      return same != nullptr && same->assignment == effect.assignment;
    });
  }

  static constexpr AssignmentId kAssignment{1};
  static JobSpec spec() {
    JobSpec spec{load_spec("live", Duration::seconds(30))};
    spec.front().told_vus = 10;
    return spec;
  }
  static JobRecord record() {
    JobRecord record;
    record.id = "job";
    return record;
  }
  Instant now_ = Instant::from_ns(1'000'000'000);
  JobEffects out_;
  JobKernel kernel_{spec(), JobRules(), record(), Prng(1)};
};

TEST_F(OneWorkersKernel, users_that_are_said_while_an_assignment_is_offered_are_told_when_it_is_ready) {
  ASSERT_TRUE(kernel_.scale(now_, "live", 20, "ann", out_));
  keep();
  out_.clear();
  kernel_.offered(now_, kAssignment, OfferAnswer::kReady, {}, out_);
  keep();
  EXPECT_TRUE(has(job_effect::Scale{kAssignment}));
}

TEST_F(OneWorkersKernel, the_stream_of_a_worker_that_is_gone_is_closed) {
  run();
  kernel_.worker_gone(now_, "w1", 1, "it does not answer", out_);
  EXPECT_TRUE(has(job_effect::CloseStream{kAssignment}));
}

TEST_F(OneWorkersKernel, the_stream_of_an_assignment_is_closed_when_all_of_it_has_come) {
  run();
  AssignmentEnd end;
  end.last_number = 1;
  kernel_.ended(now_, kAssignment, end, out_);
  EXPECT_FALSE(has(job_effect::CloseStream{kAssignment}));
  kernel_.applied(now_, kAssignment, 1, out_);
  EXPECT_TRUE(has(job_effect::CloseStream{kAssignment}));
}

}  // namespace
}  // namespace bellwether::dispatch
