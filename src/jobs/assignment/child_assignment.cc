#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/runtime/event.h"
#include "jobs/assignment/assignment_order.h"
#include "jobs/assignment/assignment_process.h"
#include "jobs/assignment/assignment_socket.h"

namespace bellwether::node {
namespace {

// From the end of its messages to that of its process.
constexpr Duration kMaxExit = Duration::seconds(5);

// A process that is starting. It keeps its end of the socket and the page until then, even if the assignment is
// destroyed: a reused descriptor number would belong to something else.
struct Starting {
  explicit Starting(int socket_) : socket(socket_) {}
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  ~Starting() { ::close(socket); }
  int socket;
  std::shared_ptr<PermitPage> page;
  Result<std::unique_ptr<runtime::Child>> child;
  runtime::Event done;
};

runtime::task<void> start_process(runtime::Runtime* runtime, std::shared_ptr<Starting> starting) {
  runtime::SpawnOptions options;
  const int page = starting->page->descriptor();
  options.argv = {"/proc/self/exe", "assignment",        "--socket", std::to_string(starting->socket),
                  "--permit",       std::to_string(page)};
  // Signals of a terminal go to the worker, which then decides about its assignments.
  options.group = runtime::SpawnOptions::Group::kOwnSession;
  options.no_input = true;
  options.keep_open = {starting->socket, page};
  options.die_with_us = true;
  auto child = co_await runtime->spawn(std::move(options));
  starting->child = std::move(child);
  starting->done.set();
}

class ChildAssignment final : public AssignmentProcess {
 public:
  ChildAssignment(runtime::Runtime& runtime, runtime::Scope& starting, ChildOrder order, Listener listener)
      : runtime_(runtime),
        starting_(starting),
        listener_(listener),
        overdue_(&ChildAssignment::overdue, this),
        tell_end_(&ChildAssignment::ended, this) {
    life_ = live(std::move(order));
  }
  ~ChildAssignment() override {
    life_ = {};  // it uses the others
  }

  void permit(Instant until) override {
    if (page_ != nullptr) page_->set(until);
  }

  void begin(Instant start, Duration resume_at, plan::RowPoint rows) override {
    check(phase_ == Phase::kReady, "it begins once, when it is ready");
    phase_ = Phase::kRunning;
    say(ChildBegin{start, resume_at, rows});
  }

  void stop(bool graceful) override {
    if (phase_ != Phase::kOver) say(ChildStop{graceful});
  }

  void scale(uint32_t vus) override { say(ChildScale{vus}); }
  void hand_over(Duration at) override {
    if (phase_ != Phase::kRunning) return;
    page_->hand_over(at);
    say(ChildHandOver{at});
  }
  void applied(uint64_t seconds) override {
    if (phase_ == Phase::kRunning) say(ChildApplied{seconds});
  }
  void save() override {
    if (phase_ == Phase::kRunning) say(ChildSave{});
  }

  void kill() override {
    if (phase_ == Phase::kOver) return;
    killed_ = true;
    kill_all();
  }

  int64_t pid() const override { return child_ == nullptr ? 0 : child_->pid(); }

 private:
  enum class Phase : uint8_t { kPreparing, kReady, kRunning, kTold, kOver };

  static void ended(void* self) {
    auto* assignment = static_cast<ChildAssignment*>(self);
    assignment->listener_.on_ended(assignment->end_);
  }

  static void overdue(void* self) { static_cast<ChildAssignment*>(self)->kill_all(); }

  // With all processes that it has started.
  void kill_all() {
    if (child_ != nullptr) (void)child_->signal_group(SIGKILL);
  }

  void say(const ToChild& message) {
    if (socket_ != nullptr) socket_->write(encode(message));
  }

  runtime::task<void> live(ChildOrder order) {
    const Status started = co_await begin_process(std::move(order));
    if (!started) {
      co_await runtime_.yield();  // no call of the listener before start() has returned
      listener_.on_prepared(started);
      conclude(AssignmentEnd::How::kNotPrepared, started.error().message);
      co_return;
    }
    if (killed_) kill_all();
    const runtime::task<void> watching = watch_process();
    const Status heard = co_await listen();
    if (!heard) kill_all();
    runtime_.timers().arm(overdue_, runtime_.read_clock() + kMaxExit);
    co_await exited_.wait();
    const bool in_time = overdue_.armed();
    overdue_.disarm();
    if (told_) {
      conclude(told_->how, told_->detail);
    } else if (killed_) {
      conclude(AssignmentEnd::How::kKilled, {});
    } else if (heard && in_time && exit_ && exit_->signal == SIGKILL) {
      conclude(AssignmentEnd::How::kLost, how_it_ended(exit_));
    } else {
      conclude(AssignmentEnd::How::kCrashed, heard ? how_it_ended(exit_) : heard.error().message);
    }
  }

  runtime::task<Status> begin_process(ChildOrder order) {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()) != 0) {
      co_return fail_errno(errno, "creating the socket of an assignment");
    }
    auto starting = std::make_shared<Starting>(sockets[1]);
    BW_CO_TRY(socket_, AssignmentSocket::take(runtime_, sockets[0]));
    BW_CO_TRY(auto page, PermitPage::create());
    page_ = starting->page = std::make_shared<PermitPage>(std::move(page));
    say(std::move(order));
    starting_.spawn(start_process(&runtime_, starting));
    co_await starting->done.wait();
    auto& child = starting->child;
    if (!child) co_return fail(child.error().code, "starting the process of an assignment: " + child.error().message);
    child_ = std::move(*child);
    co_return Status{};
  }

  // Processes that a program has started end with it: one may hold the socket open, and nothing else would end it.
  runtime::task<void> watch_process() {
    exit_ = co_await child_->wait(Instant::never(), nullptr);
    kill_all();
    exited_.set();
  }

  // To the end of its messages; the error is an invalid one.
  runtime::task<Status> listen() {
    while (true) {
      auto frame = co_await socket_->read(nullptr);
      if (!frame && frame.error().code == Errc::kClosed) co_return Status{};
      if (!frame) co_return tl::unexpected(frame.error());
      BW_CO_TRY(auto message, decode_from_child(*frame));
      const bool fits = std::visit([this](auto& one) { return hear(one); }, message);
      if (!fits) co_return fail(Errc::kProtocol, "the assignment sent a message that is invalid in this state");
    }
  }

  // False if it comes at the wrong time.
  bool hear(const ChildPrepared& prepared) {
    if (phase_ != Phase::kPreparing) return false;
    const Status status = prepared.status();
    phase_ = status ? Phase::kReady : Phase::kTold;
    if (!status) told_ = {AssignmentEnd::How::kNotPrepared, status.error().message, {}};
    listener_.on_prepared(status);
    return true;
  }
  bool hear(ChildSecond& second) {
    if (phase_ != Phase::kRunning || (last_second_ && second.second != *last_second_ + 1)) return false;
    last_second_ = second.second;
    listener_.on_second(second.second, std::move(second.window), second.covered);
    return true;
  }
  bool hear(const ChildCounters& counters) {
    if (phase_ != Phase::kRunning) return false;
    listener_.on_counters(counters);
    return true;
  }
  bool hear(ChildEnded& ended) {
    static_assert(static_cast<int>(AssignmentEnd::How::kFenced) == static_cast<int>(ChildEnded::How::kFenced));
    if (phase_ == Phase::kTold) return false;
    phase_ = Phase::kTold;
    told_ = {static_cast<AssignmentEnd::How>(ended.how),
             std::move(ended.step),
             ended.elapsed,
             std::move(ended.provided),
             std::move(ended.notes),
             std::move(ended.findings)};
    return true;
  }

  static std::string how_it_ended(const Result<runtime::ChildEnd>& exit) {
    if (!exit) return exit.error().message;
    if (exit->signal == 0) return fmt::format("its process exited with code {}", exit->exit_code);
    return fmt::format("its process was killed by signal {} ({})", exit->signal, ::sigdescr_np(exit->signal));
  }

  void conclude(AssignmentEnd::How how, std::string detail) {
    phase_ = Phase::kOver;
    end_ = told_.value_or(AssignmentEnd{});
    end_.how = how;
    end_.detail = std::move(detail);
    runtime_.timers().arm(tell_end_, runtime_.now());  // outside of the objects that its listener may destroy
  }

  runtime::Runtime& runtime_;
  runtime::Scope& starting_;
  Listener listener_;
  Phase phase_ = Phase::kPreparing;
  bool killed_ = false;
  std::unique_ptr<AssignmentSocket> socket_;
  std::shared_ptr<PermitPage> page_;
  std::unique_ptr<runtime::Child> child_;
  std::optional<uint64_t> last_second_;
  std::optional<AssignmentEnd> told_;
  AssignmentEnd end_;
  Result<runtime::ChildEnd> exit_;
  runtime::Event exited_;
  runtime::Timer overdue_;
  runtime::Timer tell_end_;
  runtime::task<void> life_;
};

}  // namespace

std::unique_ptr<AssignmentProcess> ChildAssignments::start(ChildOrder order, AssignmentProcess::Listener listener) {
  return std::make_unique<ChildAssignment>(runtime_, starting_, std::move(order), listener);
}

std::string_view to_string(AssignmentEnd::How how) {
  return EnumNames<AssignmentEnd::How>("completed", "stopped", "aborted", "timed out", "fenced", "not prepared",
                                       "crashed", "killed", "lost")[how];
}

}  // namespace bellwether::node
