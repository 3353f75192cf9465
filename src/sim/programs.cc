#include "sim/programs.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "runtime/child.h"

namespace bellwether::sim {
namespace {

using runtime::Cancellation;
using runtime::ChildEnd;
using runtime::task;

class SimChild final : public runtime::Child {
 public:
  SimChild(runtime::Runtime& runtime, ProgramScript script, int64_t pid, const runtime::SpawnOptions& options)
      : runtime_(runtime),
        script_(std::move(script)),
        pid_(pid),
        own_group_(options.group != runtime::SpawnOptions::Group::kOurs),
        capture_(options.capture),
        ends_at_(runtime.now() + script_.runs_for) {}

  int64_t pid() const override { return pid_; }

  task<Result<ChildEnd>> wait(Instant deadline, Cancellation* cancel) override {
    if (runtime_.now() < ends_at_) {
      const Waiting waiting(*this, cancel);
      co_await runtime_.sleep_until(std::min(deadline, ends_at_), waiting.cancellation());
    }
    if (runtime_.now() >= ends_at_) co_return finish();
    if (cancel != nullptr && cancel->cancelled())
      co_return fail(Errc::kCancelled, "waiting for a program was cancelled");
    co_return fail(Errc::kTimeout, "a program still runs");
  }

  Status signal(int number) override {
    if (script_.signals != nullptr) script_.signals->push_back(number);
    const bool ends = number == SIGKILL || (number != 0 && !script_.ignores_terminate);
    if (!ends || runtime_.now() >= ends_at_) return {};
    ends_at_ = runtime_.now();
    script_.end = {0, number};
    script_.output.clear();
    if (waiting_ != nullptr) waiting_->cancel();
    return {};
  }

  Status signal_group(int number) override {
    if (own_group_) return signal(number);
    return fail(Errc::kInvalid, "signalling the group of a program: it has none of its own");
  }

  const std::string& output() const override { return output_; }
  bool output_was_cut() const override { return cut_; }
  void let_go() override {}

 private:
  // Lets a signal wake the one who waits.
  class Waiting {
   public:
    Waiting(SimChild& child, Cancellation* parent) : child_(child), woken_(parent) {
      check(child_.waiting_ == nullptr, "one waiter a child");
      child_.waiting_ = &woken_;
    }
    ~Waiting() { child_.waiting_ = nullptr; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    Cancellation* cancellation() const { return &woken_; }

   private:
    SimChild& child_;
    mutable Cancellation woken_;
  };

  ChildEnd finish() {
    output_ = script_.output.substr(0, capture_);
    cut_ = capture_ > 0 && script_.output.size() > capture_;
    return script_.end;
  }

  runtime::Runtime& runtime_;
  ProgramScript script_;
  int64_t pid_;
  bool own_group_;
  std::size_t capture_;
  Instant ends_at_;
  std::string output_;
  bool cut_ = false;
  Cancellation* waiting_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<runtime::Child>> Programs::start(runtime::Runtime& runtime,
                                                        const runtime::SpawnOptions& options) {
  if (options.argv.empty()) return fail(Errc::kInvalid, "running a program: it has no name");
  if (script_ == nullptr) return fail(Errc::kNotFound, options.argv[0] + ": no such file");
  ProgramScript script = script_(context_, options);
  if (script.refusal) return tl::unexpected(*script.refusal);
  return std::unique_ptr<runtime::Child>(std::make_unique<SimChild>(runtime, std::move(script), next_pid_++, options));
}

}  // namespace bellwether::sim
