#include "runtime/spawn.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <unistd.h>

namespace bellwether::runtime {
namespace {

// How much is read of a child's output before others have their turn.
constexpr int kReadsPerTurn = 16;

class OsChild final : public Child {
 public:
  OsChild(Runtime& runtime, std::unique_ptr<ChildProcess> process, std::string name, std::size_t capture)
      : runtime_(runtime), process_(std::move(process)), name_(std::move(name)), capture_(capture) {
    if (process_->output_descriptor() >= 0) reader_ = read_output();
  }

  int64_t pid() const override { return process_->pid(); }

  task<Result<ChildEnd>> wait(Instant deadline, Cancellation* cancel) override {
    if (!end_) {
      auto ended = co_await runtime_.wait_descriptor(process_->end_descriptor(), true, false, deadline, cancel);
      if (!ended && ended.error().code == Errc::kTimeout) co_return fail(Errc::kTimeout, "'" + name_ + "' still runs");
      if (!ended && ended.error().code == Errc::kCancelled) {
        co_return fail(Errc::kCancelled, "waiting for the end of '" + name_ + "' was cancelled");
      }
      if (!ended) co_return tl::unexpected(ended.error());
      BW_CO_TRY(auto end, process_->end());
      // What it wrote is in the pipe, and what is more than a pipe holds comes from a descendant.
      if (process_->output_descriptor() >= 0) take_output();
      end_ = end;
    }
    co_return *end_;
  }

  Status signal(int number) override { return send(process_->pid(), number); }

  Status signal_group(int number) override {
    if (process_->has_own_group()) return send(-process_->pid(), number);
    return fail(Errc::kInvalid, "signalling the group of '" + name_ + "': it has none of its own");
  }

  const std::string& output() const override { return output_; }
  bool output_was_cut() const override { return cut_; }
  void let_go() override { process_->let_go(); }

 private:
  Status send(pid_t whom, int number) const {
    if (::kill(whom, number) == 0) return {};
    return fail_errno(errno, "sending signal " + std::to_string(number) + " to '" + name_ + "'");
  }

  task<void> read_output() {
    while (true) {
      auto ready =
          co_await runtime_.wait_descriptor(process_->output_descriptor(), true, false, Instant::never(), nullptr);
      if (!ready || !take_output()) co_return;
    }
  }

  // False at the end of the output.
  bool take_output() {
    char buffer[16384];
    for (int i = 0; i < kReadsPerTurn; ++i) {
      const ssize_t n = ::read(process_->output_descriptor(), buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN;
      if (n == 0) return false;
      const std::size_t room = std::min(static_cast<std::size_t>(n), capture_ - output_.size());
      output_.append(buffer, room);
      cut_ |= room < static_cast<std::size_t>(n);
    }
    return true;
  }

  Runtime& runtime_;
  std::unique_ptr<ChildProcess> process_;
  std::string name_;
  std::size_t capture_;
  std::optional<ChildEnd> end_;
  std::string output_;
  bool cut_ = false;
  task<void> reader_;  // last: it uses the others
};

}  // namespace

task<Result<std::unique_ptr<Child>>> spawn_child(Runtime& runtime, BlockingPool& pool, std::shared_ptr<Orphans> orphans,
                                                 SpawnOptions options) {
  auto operation = [options, environment = environment_with(options.environment), orphans] {
    return launch(options, environment, orphans);
  };
  BW_CO_TRY(auto launched, co_await pool.run(std::move(operation)));
  co_return std::unique_ptr<Child>(
      std::make_unique<OsChild>(runtime, std::move(launched), options.argv[0], options.capture));
}

}  // namespace bellwether::runtime
