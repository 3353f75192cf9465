// What the tests of children have in common: shell scripts, started and waited for on a loop.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>

#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {

class ChildTest : public testing::Test {
 protected:
  static SpawnOptions script(std::string text) {
    SpawnOptions options;
    options.argv = {"sh", "-c", std::move(text)};
    options.capture = 4096;
    return options;
  }
  Result<std::unique_ptr<Child>> spawn(SpawnOptions options) {
    return runtime_->run(runtime_->spawn(std::move(options)));
  }
  std::unique_ptr<Child> start(SpawnOptions options) {
    auto child = spawn(std::move(options));
    check(child.has_value(), "the test's script can be started");
    return std::move(*child);
  }
  ChildEnd wait(Child& child) {
    const auto end = runtime_->run(child.wait(Instant::never(), nullptr));
    check(end.has_value(), "the end of a child is known");
    return *end;
  }
  // The whole output of a script.
  std::string output_of(SpawnOptions options) {
    const auto child = start(std::move(options));
    wait(*child);
    return child->output();
  }
  // The text that a script has written so far, once it ends with a line.
  std::string line_of(Child& child) {
    while (!child.output().ends_with('\n')) pass_time();
    return child.output().substr(0, child.output().size() - 1);
  }
  void wait_until_dead(int64_t pid) {
    while (runtime_->look_at_process(pid).state != ProcessSight::State::kDead) pass_time();
  }
  bool is_alive(int64_t pid) { return runtime_->look_at_process(pid).state == ProcessSight::State::kAlive; }
  Error refusal(SpawnOptions options) {
    const auto child = spawn(std::move(options));
    EXPECT_FALSE(child.has_value());
    return child ? Error{} : child.error();
  }
  Error refusal(std::string program) {
    SpawnOptions options;
    options.argv = {std::move(program)};
    return refusal(std::move(options));
  }

  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
  TemporaryFolder folder_;

 private:
  static task<void> nap(Runtime& runtime) { co_await runtime.sleep(Duration::millis(1)); }
  void pass_time() { runtime_->run(nap(*runtime_)); }
};

}  // namespace bellwether::runtime
