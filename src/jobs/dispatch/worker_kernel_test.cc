// A worker's kernel and its senders: testdata/kernel_*.txt have the events. A message is of manager m1, of job j1 and
// under fence 5 unless the line differs ("m2: adopt fence=6"); an assignment of another job is "a/1".
#include "jobs/dispatch/worker_kernel.h"

#include <gtest/gtest.h>
#include <map>

#include "core/base/fields_testing.h"
#include "core/base/transcript_testing.h"

namespace bellwether::dispatch {

static std::string to_text(const AssignmentKey& key) {
  return (key.job == "j1" ? "" : key.job + "/") + std::to_string(key.assignment.value());
}
static bool fill(std::string_view text, AssignmentKey& key) {
  const std::size_t slash = text.find('/');
  key.job = slash == std::string_view::npos ? "j1" : text.substr(0, slash);
  return fields::read(text.substr(slash + 1), key.assignment);
}
static std::string to_text(const WorkerReport::Held& held) {
  return (held.job == "j1" ? "" : held.job + "/") + std::to_string(held.assignment.value()) + " " +
         fields::words(held.phase);
}
namespace kernel_effect {
// Its order is the offered one.
static std::string to_text(const Start& start) {
  return "start " + fields::words(start.assignment) + " cores=" + fields::words(start.core_of_part) +
         " bundle=" + fields::words(start.bundle);
}
}  // namespace kernel_effect

namespace {

using transcript::Lines;

// What a worker answers; its note says nothing more.
std::string answer_format(const Response& response) {
  return std::visit(
      []<class One>(const One& one) {
        constexpr bool kOfWorker =
            std::is_same_v<One, Refusal> || std::is_same_v<One, Adopted> || std::is_same_v<One, Denied>;
        if constexpr (kOfWorker) return fields::named(one);
        return fields::type_name<One>();
      },
      response);
}

class KernelStory {
 public:
  Lines say(const std::string& line) {
    told_.clear();
    Lines words = transcript::words_of(line);
    std::string from = "m1";
    if (words[0].ends_with(':')) {
      from = words[0].substr(0, words[0].size() - 1);
      words.erase(words.begin());
    }
    say(from, words[0], Lines(words.begin() + 1, words.end()));
    return std::move(told_);
  }

 private:
  static constexpr Duration kHeardEvery = Duration::seconds(1);

  void say(const std::string& from, const std::string& verb, const Lines& rest) {
    if (verb == "kernel") {
      WorkerKernelConfig config{.cores = 4};
      fields::set_all(config, rest, "assignment");
      kernel_.emplace(config);
    } else if (verb == "wait") {
      wait(fields::parsed<Duration>(rest.at(0)), rest.size() > 1 && rest[1] == "heard");
    } else if (verb == "stall") {  // the thread of the kernel does not run
      now_ += fields::parsed<Duration>(rest.at(0));
    } else if (verb == "prepare" || verb == "run") {
      prepare(rest);
      if (verb == "run") expect_begun(rest);
    } else if (verb == "jobs") {
      told_.push_back(std::to_string(kernel_->jobs()));
    } else if (verb == "owner") {
      told_.push_back(fields::words(kernel_->owner_of("j1")));
    } else if (!write(from, verb, rest) && !happens(verb, rest)) {
      ADD_FAILURE() << "nothing is called " << verb;
    }
  }
  // A message of m1 that succeeds.
  void prepare(const Lines& rest) {
    write("m1", "bundle", {});
    write("m1", "offer", rest);
    EXPECT_TRUE(told_.back() == "waits") << told_.back();
    happens("prepared", {rest.at(0), "graceful_stop=30s"});
    told_.clear();
  }
  void expect_begun(const Lines& rest) {
    write("m1", "begin", {rest.at(0)});
    EXPECT_TRUE(told_.front().starts_with("begin")) << told_.front();
    told_.clear();
  }

  bool write(const std::string& from, const std::string& verb, const Lines& rest) {
    JobMessage message;
    const auto prepare = [&](auto& made) { fill_in(made, rest); };
    if (!fields::choose(message, verb + "_message", prepare) && !fields::choose(message, verb, prepare)) return false;
    step(kernel_event::Asked{++ticket_, from, std::move(message)});
    return true;
  }
  template <class Made>
  static void fill_in(Made& made, const Lines& rest) {
    if constexpr (requires { made.job = "j1"; }) made.job = "j1";
    if constexpr (requires { made.fence = JobFence(5); }) made.fence = JobFence(5);
    fields::set_all(made, rest, "assignment");
  }
  static void fill_in(Offer& made, const Lines& rest) {
    made.order.parts.of = 16;
    made.order.bundle = "b0b0";
    fill_in(made.order, rest);
    made.order.parts.count = std::max(made.order.cores, 1u);
  }
  static void fill_in(BundleMessage& made, const Lines& rest) {
    made = {"j1", "b0b0", "the bytes"};
    fields::set_all(made, rest, "assignment");
    if (std::size_t size = 0; fields::read(made.bytes, size)) made.bytes = std::string(size, 'c');
  }
  bool happens(const std::string& verb, const Lines& rest) {
    KernelEvent event;
    const bool found = fields::choose(event, verb, [&](auto& made) {
      if constexpr (requires { made.job = "j1"; }) made.job = "j1";
      if constexpr (requires { made.from = "m1"; }) made.from = "m1";
      if constexpr (requires { made.end.ran; }) made.end.ran = Duration::seconds(3);
      fields::set_all(made, rest, "assignment");
    });
    if (found) step(event);
    return found;
  }

  // The kernel wakes at its own time; with `heard` it receives messages of its owner all the time.
  void wait(Duration span, bool heard) {
    const Instant end = now_ + span;
    Instant word = heard ? now_ : Instant::never();
    while (true) {
      const Instant next = std::min(kernel_->wake(), word);
      if (next > end) break;
      const bool moves = next > now_ || next == word;
      ASSERT_TRUE(moves || ++idle_ < 1'000) << "it wakes for ever";
      now_ = std::max(now_, next);
      at_ = "at " + fields::words(now_) + ": ";
      if (next == word) {
        word += kHeardEvery;
        step(kernel_event::OwnerAnswered{"j1", "m1"});
      } else {
        step(kernel_event::Tick{});
      }
    }
    now_ = end;
    at_.clear();
  }

  void step(const KernelEvent& event) {
    KernelEffects effects;
    kernel_->step(now_, event, effects);
    bool answered = !std::holds_alternative<kernel_event::Asked>(event);
    std::map<std::string, int> to_others;
    const auto tell = [&]<class Effect>(const Effect& effect) {
      if constexpr (std::is_same_v<Effect, kernel_effect::Answer>) {
        const std::string response = answer_format(effect.response);
        const bool at_once = effect.ticket == ticket_ && !std::exchange(answered, true);
        at_once ? told_.push_back(response) : void(++to_others[response]);
      } else if constexpr (std::is_same_v<Effect, kernel_effect::Report>) {
        told_.push_back(at_ + report());
      } else {
        told_.push_back(at_ + fields::named(effect));
      }
    };
    for (const KernelEffect& effect : effects) std::visit(tell, effect);
    for (const auto& [response, count] : to_others) {
      told_.push_back(at_ + "to " + std::to_string(count) + " who waited: " + response);
    }
    if (!answered) told_.emplace_back("waits");
  }
  std::string report() const {
    WorkerReport report = kernel_->report();
    std::string out = "report free=" + std::to_string(report.free);
    if (!report.takes_work) out += " takes_no_work";
    if (report.leaves) out += " leaves";
    return out + " held=" + fields::words(report.held);
  }

  std::optional<WorkerKernel> kernel_{WorkerKernelConfig{.cores = 4}};
  Instant now_ = fields::kBegins;
  uint64_t ticket_ = 0;
  int idle_ = 0;
  std::string at_;
  Lines told_;
};

void expect_kernel_stories(const std::string& name) {
  transcript::expect_stories<KernelStory>("src/jobs/dispatch/testdata/kernel_" + name + ".txt");
}
TEST(WorkerKernel, takes_and_begins_what_it_is_offered) { expect_kernel_stories("offers"); }
TEST(WorkerKernel, knows_who_owns_a_job_and_what_is_over) { expect_kernel_stories("owners"); }
TEST(WorkerKernel, ends_assignments_by_itself) { expect_kernel_stories("limits"); }
TEST(WorkerKernel, keeps_only_so_much) { expect_kernel_stories("room"); }
TEST(WorkerKernel, hands_over_and_takes_over) { expect_kernel_stories("moves"); }
TEST(WorkerKernel, asks_for_time) { expect_kernel_stories("time"); }
TEST(WorkerKernel, makes_load_while_it_has_a_permit) { expect_kernel_stories("permits"); }

}  // namespace
}  // namespace bellwether::dispatch
