#include "core/runtime/epoll/spawn.h"

#include <cstdlib>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/runtime/child_testing.h"

namespace bellwether::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SpawnTest : public ChildTest {};

TEST_F(SpawnTest, a_program_ends_with_an_exit_code_or_by_a_signal) {
  EXPECT_TRUE(wait(*start(script("exit 0"))).succeeded());
  const ChildEnd failed = wait(*start(script("exit 17")));
  EXPECT_EQ(failed.exit_code, 17);
  EXPECT_EQ(failed.signal, 0);
  const ChildEnd killed = wait(*start(script("kill -9 $$")));
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_FALSE(killed.succeeded());
}

TEST_F(SpawnTest, its_end_is_known_even_to_who_was_started_ignoring_the_ends_of_children) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(wait(*start(script("exit 3"))).exit_code, 3);
  ::signal(SIGCHLD, before);
}

TEST_F(SpawnTest, waiting_has_a_deadline_and_is_cancelled_and_goes_on) {
  const auto child = start(script("exec sleep 1000"));
  const auto late = runtime_->run(child->wait(runtime_->now() + Duration::millis(2), nullptr));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  Cancellation cancel;
  auto waiting = child->wait(Instant::never(), &cancel);
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(waiting)).error().code, Errc::kCancelled);
  ASSERT_TRUE(child->signal(SIGTERM));
  EXPECT_EQ(wait(*child).signal, SIGTERM);
  EXPECT_EQ(wait(*child).signal, SIGTERM) << "as often as asked";
  EXPECT_TRUE(child->signal(SIGTERM)) << "in vain";
}

TEST_F(SpawnTest, its_environment_is_ours_with_additions) {
  ::setenv("BELLWETHER_TEST_A", "old", 1);
  ::setenv("BELLWETHER_TEST_B", "inherited", 1);
  SpawnOptions options = script("echo $BELLWETHER_TEST_A:$BELLWETHER_TEST_B:$BELLWETHER_TEST; env | grep -c TEST_A=");
  options.environment = {{"BELLWETHER_TEST_A", "new value"}, {"BELLWETHER_TEST", ""}};
  EXPECT_EQ(output_of(options), "new value:inherited:\n1\n");
  ::unsetenv("BELLWETHER_TEST_A");
  ::unsetenv("BELLWETHER_TEST_B");
}

TEST_F(SpawnTest, it_starts_in_the_folder_that_was_asked_for) {
  const std::string hook = folder_.file("hook", "#!/bin/sh\npwd\n");
  ASSERT_EQ(::chmod(hook.c_str(), 0700), 0);
  SpawnOptions options;
  options.argv = {"./hook"};
  options.directory = folder_.path();
  options.capture = 4096;
  EXPECT_EQ(output_of(options), folder_.path() + "\n");
}

TEST_F(SpawnTest, it_may_be_given_nothing_to_read) {
  SpawnOptions options = script("cat; echo done");
  options.no_input = true;
  EXPECT_EQ(output_of(options), "done\n");
}

TEST_F(SpawnTest, its_signals_are_as_programs_expect_them) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  sigset_t terminate;
  sigset_t mask;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &terminate, &mask);
  EXPECT_EQ(output_of(script("grep -E 'Sig(Blk|Ign)' /proc/self/status")),
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::signal(SIGPIPE, before);
}

TEST_F(SpawnTest, it_has_no_descriptors_but_those_it_is_given) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // as a careless library leaves them
  SpawnOptions options =
      script("n=0; while [ $n -lt 1000 ]; do [ -e /proc/$$/fd/$n ] && echo -n \"$n \"; n=$((n + 1)); done");
  EXPECT_EQ(output_of(options), "0 1 2 ");
  options = script("echo hello > /proc/self/fd/" + std::to_string(ends[1]));
  options.keep_open = {ends[1]};
  EXPECT_TRUE(wait(*start(options)).succeeded());
  char buffer[16] = {};
  EXPECT_EQ(::read(ends[0], buffer, sizeof buffer), 6);
  EXPECT_STREQ(buffer, "hello\n");
  ::close(ends[0]);
  ::close(ends[1]);
}

// --- output ----------------------------------------------------------------------------------------------------------

TEST_F(SpawnTest, as_much_output_is_kept_as_was_asked_for_and_the_rest_holds_nobody_up) {
  SpawnOptions options = script("head -c 1000000 /dev/zero | tr '\\0' x; echo 1>&2 -n");
  options.capture = 1'000'000;
  auto child = start(options);
  EXPECT_TRUE(wait(*child).succeeded());
  EXPECT_TRUE(child->output() == std::string(1'000'000, 'x'));
  EXPECT_FALSE(child->output_was_cut());
  options.capture = 10;
  child = start(options);
  EXPECT_TRUE(wait(*child).succeeded());
  EXPECT_EQ(child->output(), "xxxxxxxxxx");
  EXPECT_TRUE(child->output_was_cut());
}

TEST_F(SpawnTest, a_descendant_that_goes_on_holds_nobody_up) {
  SpawnOptions options = script("sleep 1000 & echo started");
  options.group = SpawnOptions::Group::kOwnGroup;
  const auto child = start(options);
  EXPECT_TRUE(wait(*child).succeeded());
  EXPECT_EQ(child->output(), "started\n");
  EXPECT_TRUE(child->signal_group(SIGKILL));
}

// --- what cannot be started ------------------------------------------------------------------------------------------

TEST_F(SpawnTest, a_program_that_does_not_exist_says_where_it_was_looked_for) {
  const Error error = refusal("no-such-program");
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_EQ(error.message, "no-such-program: no such file; in PATH: " + std::string(::getenv("PATH")));
  EXPECT_EQ(refusal(folder_.path("none")).message, folder_.path("none") + ": no such file");
}

TEST_F(SpawnTest, a_file_that_is_no_program_says_what_is_wrong_with_it) {
  const std::string data = folder_.file("data", "just text\n");
  EXPECT_EQ(refusal(data).code, Errc::kRefused);
  EXPECT_THAT(refusal(data).message, AllOf(HasSubstr(data), HasSubstr("chmod +x")));
  ASSERT_EQ(::chmod(data.c_str(), 0700), 0);
  EXPECT_THAT(refusal(data).message, AllOf(HasSubstr(data), HasSubstr("neither a program nor a script")));
  const std::string lost = folder_.file("lost", "#!/no/such/interpreter\n");
  ASSERT_EQ(::chmod(lost.c_str(), 0700), 0);
  EXPECT_THAT(refusal(lost).message, AllOf(HasSubstr(lost), HasSubstr("interpreter")));
  EXPECT_THAT(refusal(folder_.path()).message, HasSubstr(folder_.path()));
}

TEST_F(SpawnTest, what_it_is_given_must_be_there) {
  SpawnOptions options = script("true");
  options.directory = folder_.path("none");
  EXPECT_THAT(refusal(options).message, AllOf(HasSubstr(options.directory), HasSubstr("No such file or directory")));
  options = script("true");
  options.keep_open = {987'654};
  EXPECT_THAT(refusal(options).message, HasSubstr("descriptors: Bad file descriptor"));
}

TEST_F(SpawnTest, what_no_program_can_be_given_is_refused) {
  EXPECT_EQ(refusal(SpawnOptions{}).code, Errc::kInvalid);
  EXPECT_EQ(refusal("").code, Errc::kInvalid);
  EXPECT_EQ(refusal(script(std::string("a\0b", 3))).code, Errc::kInvalid);
  for (const char* name : {"", "A=B"}) {
    SpawnOptions options = script("true");
    options.environment = {{name, "x"}};
    EXPECT_EQ(refusal(options).code, Errc::kInvalid);
  }
}

TEST_F(SpawnTest, programs_are_looked_for_in_each_folder_of_the_path) {
  const std::string plain = folder_.file("tool", "no program");
  const auto found = find_program("sh", "/none:" + folder_.path() + ":/bin");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, "/bin/sh");
  EXPECT_THAT(find_program("tool", "/none:" + folder_.path()).error().message, HasSubstr("'" + plain + "'"));
  EXPECT_THAT(find_program("tool", "").error().message, testing::StartsWith("tool: no such file; in PATH: "));
}

}  // namespace
}  // namespace bellwether::runtime
