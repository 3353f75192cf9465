#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <sched.h>
#include <unistd.h>

#include "core/runtime/scope.h"
#include "core/runtime/thread.h"
#include "jobs/assignment/assignment_order.h"
#include "jobs/assignment/assignment_process.h"
#include "jobs/assignment/assignment_socket.h"
#include "jobs/dispatch/assignment.h"
#include "load/codec/window_codec.h"
#include "load/local/load_group.h"
#include "load/local/self_watch.h"
#include "load/plan/context.h"
#include "load/script/loader.h"

namespace bellwether::node {
namespace {

using runtime::task;

constexpr Duration kCountersEvery = Duration::millis(50);
// Unsent bytes to a worker that does not read: seconds of many hours.
constexpr std::size_t kMaxWaiting = std::size_t{256} << 20;

// All threads of this process stay there, also those without load: other processors may serve other assignments.
Status stay_on(const std::vector<int>& cpus) {
  if (cpus.empty()) return {};
  cpu_set_t usable;
  cpu_set_t wanted;
  CPU_ZERO(&usable);
  CPU_ZERO(&wanted);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0)
    return fail_errno(errno, "reading this process's CPU affinity");
  for (const int cpu : cpus) {
    if (cpu >= CPU_SETSIZE || !CPU_ISSET(static_cast<std::size_t>(cpu), &usable)) {
      return fail(Errc::kInvalid, "processor {} does not exist or is not available to this process", cpu);
    }
    CPU_SET(static_cast<std::size_t>(cpu), &wanted);
  }
  if (::sched_setaffinity(0, sizeof wanted, &wanted) != 0)
    return fail_errno(errno, "setting this process's CPU affinity");
  return {};
}

// Without a worker no process can receive a report, and no cleanup is needed.
[[noreturn]] void give_up(const Error& why) {
  if (why.code != Errc::kClosed) std::fprintf(stderr, "bellwether assignment: %s\n", why.message.c_str());
  ::_exit(1);
}

class Assignment final : public LoadGroup::Listener {
 public:
  Assignment(runtime::EpollRuntime& runtime, std::unique_ptr<AssignmentSocket> socket, const PermitPage& page,
             PlanOf plan_of)
      : runtime_(runtime), socket_(std::move(socket)), permit_{page.until(), page.handed_over()}, plan_of_(plan_of) {}

  task<Status> live() {
    BW_CO_TRY(auto first, co_await hear(nullptr));
    const auto* order = std::get_if<ChildOrder>(&first);
    if (order == nullptr) co_return tl::unexpected(out_of_turn());
    const Status prepared = prepare(*order);
    say(ChildPrepared::of(prepared));
    if (prepared) {
      BW_CO_TRY(auto next, co_await hear(nullptr));
      while (const auto* scale = std::get_if<ChildScale>(&next)) {
        group_->scale(workflow_, scale->vus);
        BW_CO_TRY(next, co_await hear(nullptr));
      }
      const auto* begin = std::get_if<ChildBegin>(&next);
      if (begin == nullptr && !std::holds_alternative<ChildStop>(next)) co_return tl::unexpected(out_of_turn());
      if (begin != nullptr) {
        co_await run(*begin);
      } else {
        say(ChildEnded{ChildEnded::How::kStopped, {}, {}, {}});
      }
    }
    co_await socket_->flush();
    co_return Status{};
  }

 private:
  static Error out_of_turn() { return {Errc::kProtocol, "the worker sent a message that is invalid in this state"}; }

  void say(const FromChild& message) { socket_->write(encode(message)); }

  task<Result<ToChild>> hear(runtime::Cancellation* cancel) {
    BW_CO_TRY(auto frame, co_await socket_->read(cancel));
    co_return decode_to_child(frame);
  }

  Status prepare(const ChildOrder& order) {
    BW_TRY(plan_, plan_of_(order.bundle, order.files));
    if (order.workflow >= plan_->workflows.size()) {
      return fail(Errc::kInvalid, "the order is for workflow {}, but the plan has {} workflows", order.workflow,
                  plan_->workflows.size());
    }
    plan_ = plan::with_given(std::move(*plan_), order.workflow, order.given);
    workflow_ = order.workflow;
    programs_ = script::Loader(script::Compiled::kTrusted, {}, order.trusted);
    BW_RETURN_IF_ERROR(stay_on(order.cpus));
    std::vector<vuser::EngineAssignment> assignments;
    for (uint32_t i = 0; i < order.count; ++i) {
      assignments.push_back({order.first + i, order.of, {order.workflow}});
      assignments.back().reported = true;
      if (order.iterations) assignments.back().iterations = plan::dealt_to(*order.iterations, i, order.count);
    }
    group_ = std::make_unique<LoadGroup>(runtime_, *plan_,
                                         GroupOptions{.assignments = std::move(assignments),
                                                      .pin = order.cpus,
                                                      .seed = order.seed,
                                                      .tally_every = kCountersEvery,
                                                      .programs = &programs_,
                                                      .permit = &permit_},
                                         *this);
    itself_.emplace(order.count);
    BW_RETURN_IF_ERROR(group_->prepare());
    if (order.vus) group_->scale(workflow_, *order.vus);
    return {};
  }

  task<void> run(ChildBegin begin) {
    runtime::Scope beside;
    beside.spawn(obey(beside.cancellation()));
    beside.spawn(tell_counters(beside.cancellation()));
    start_ = begin.start;
    co_await group_->run(begin.start, {.at = begin.resume_at, .rows = begin.rows});
    itself_->end(runtime_.read_clock() - start_);
    beside.cancel();
    co_await beside.join();
    say(counters());
    // Nothing is missing if all that was left is time.
    const bool is_done = (permit_.over || stopped_) && group_->served_all();
    const auto how = !aborted_by_.empty() ? ChildEnded::How::kAborted
                     : is_done            ? ChildEnded::How::kCompleted
                     : permit_.over       ? ChildEnded::How::kFenced
                     : stopped_           ? ChildEnded::How::kStopped
                     : timed_out_         ? ChildEnded::How::kTimedOut
                                          : ChildEnded::How::kCompleted;
    std::string why = aborted_by_;
    if (how == ChildEnded::How::kTimedOut) why = plan::timeout_text(*plan_->workflows[workflow_].timeout);
    say(ChildEnded{how, std::move(why), group_->elapsed(), group_->provided(workflow_), notes_, itself_->findings()});
  }

  task<void> obey(runtime::Cancellation* cancel) {
    while (true) {
      auto message = co_await hear(cancel);
      if (!message && message.error().code == Errc::kCancelled) co_return;
      if (!message) give_up(message.error());
      if (const auto* over = std::get_if<ChildHandOver>(&*message)) {
        group_->hand_over(over->at);
        continue;
      }
      if (const auto* scale = std::get_if<ChildScale>(&*message)) {
        group_->scale(workflow_, scale->vus);
        continue;
      }
      if (const auto* applied = std::get_if<ChildApplied>(&*message)) {
        group_->applied(applied->seconds);
        continue;
      }
      if (std::holds_alternative<ChildSave>(*message)) {
        group_->tell_what_is_over();
        continue;
      }
      const auto* stop = std::get_if<ChildStop>(&*message);
      if (stop == nullptr) give_up(out_of_turn());
      stopped_ = true;
      if (stop->graceful) {
        group_->stop();
      } else {
        group_->kill();
      }
    }
  }

  ChildCounters counters() const { return {group_->tally(), group_->loops(), group_->headway()}; }

  task<void> tell_counters(runtime::Cancellation* cancel) {
    ChildCounters told;
    while (true) {
      const bool time_came = co_await runtime_.sleep(kCountersEvery, cancel);
      if (!time_came) co_return;
      const ChildCounters now = counters();
      if (now == told || socket_->waiting() > 0) continue;  // the seconds come first
      say(now);
      told = now;
    }
  }

  void second_over(const metrics::Window& window, Duration covered) override {
    itself_->second(runtime_.read_clock() - start_, window, covered);
    say(ChildSecond{window.second, covered, ingest::encode_window(window)});
    if (socket_->waiting() > kMaxWaiting) {
      give_up({Errc::kTooLarge, "the worker does not read this assignment's results"});
    }
  }

  void aborted_by(const std::string& step) override {
    if (!aborted_by_.empty()) return;
    aborted_by_ = step;
    group_->stop();
  }

  // Sent with the end: frequent notes do not cause frequent messages.
  void noted(const std::string& text) override {
    if (notes_.size() >= dispatch::kMaxNotes || std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
    notes_.push_back(text);
  }

  void timed_out(uint16_t) override { timed_out_ = true; }

  script::Loader programs_;
  runtime::EpollRuntime& runtime_;
  std::unique_ptr<AssignmentSocket> socket_;
  vuser::Permit permit_;
  PlanOf plan_of_;
  std::optional<plan::Plan> plan_;
  uint16_t workflow_ = 0;
  std::unique_ptr<LoadGroup> group_;
  std::optional<SelfWatch> itself_;  // after the order
  Instant start_;
  std::string aborted_by_;
  std::vector<std::string> notes_;
  bool stopped_ = false;
  bool timed_out_ = false;
};

}  // namespace

Status assignment_main(int socket_fd, int permit_fd, PlanOf plan_of) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  runtime::set_up_thread("assignment", std::nullopt);
  BW_TRY(auto runtime, runtime::EpollRuntime::create({}));
  BW_TRY(auto socket, AssignmentSocket::take(*runtime, socket_fd));
  BW_TRY(const auto page, permit_fd < 0 ? PermitPage::create() : PermitPage::open(permit_fd));
  Assignment assignment(*runtime, std::move(socket), page, plan_of);
  return runtime->run(assignment.live());
}

}  // namespace bellwether::node
