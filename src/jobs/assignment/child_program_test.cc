// The test program: the tests, the assignments that they start, and a worker whose death is a test.
#include <charconv>
#include <cstdio>
#include <gmock/gmock.h>
#include <poll.h>
#include <string_view>
#include <unistd.h>

#include "jobs/assignment/assignment_order.h"
#include "jobs/assignment/assignment_process.h"
#include "jobs/assignment/assignment_testing.h"

namespace bellwether::node {
namespace {

int socket_fd = -1;

[[noreturn]] void say_and_wait(std::string_view bytes) {
  check(::write(socket_fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "a socket takes that");
  while (true) ::pause();
}

std::string framed(const FromChild& message) {
  const std::string payload = encode(message);
  return std::string(3, '\0') + static_cast<char>(payload.size()) + payload;
}

[[noreturn]] void leave_out_a_second() {
  const std::string prepared = framed(ChildPrepared{});
  check(::write(socket_fd, prepared.data(), prepared.size()) > 0, "a socket takes that");
  pollfd begin{socket_fd, POLLIN, 0};
  check(::poll(&begin, 1, -1) == 1, "the begin comes");
  say_and_wait(framed(ChildSecond{4, Duration::seconds(1), {}}) + framed(ChildSecond{6, Duration::seconds(1), {}}));
}

// With all open descriptors of this process. It ends by itself after a while.
std::string number_of_twin() {
  const pid_t twin = ::fork();
  if (twin == 0) ::alarm(60);
  while (twin == 0) ::pause();
  return std::to_string(twin);
}

Result<plan::Plan> plan_of_test(std::string_view bundle, const std::vector<ChildFile>&) {
  if (bundle == kExit) ::_exit(3);
  if (bundle == kSayGarbage) say_and_wait("GET / HTTP/1.1\r\n");
  if (bundle == kSayTooEarly) say_and_wait(std::string_view("\0\0\0\7\x12\5\x10\1\x1a\1x", 11));
  if (bundle == kLeaveOut) leave_out_a_second();
  if (bundle == kLeaveBehind) return fail(Errc::kInvalid, number_of_twin());
  return plan_of_text(bundle);
}

int be_assignment(std::string_view socket, std::string_view permit) {
  int permit_fd = -1;
  std::from_chars(socket.data(), socket.data() + socket.size(), socket_fd);
  std::from_chars(permit.data(), permit.data() + permit.size(), permit_fd);
  return assignment_main(socket_fd, permit_fd, &plan_of_test) ? 0 : 1;
}

// Begins an assignment of this text, prints its process id, and waits.
int be_worker(const char* text) {
  const auto runtime = runtime::test_runtime();
  ChildAssignments assignments(*runtime);
  Heard heard;
  const auto assignment = assignments.start({.bundle = text}, heard.listener());
  runtime->run(until(runtime.get(), [&] { return heard.prepared.has_value(); }));
  assignment->begin(runtime->read_clock());
  std::printf("%lld\n", static_cast<long long>(assignment->pid()));
  std::fflush(stdout);
  runtime->run(until(runtime.get(), [] { return false; }));
  return 0;
}

}  // namespace
}  // namespace bellwether::node

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (argc == 6 && what == "assignment") return bellwether::node::be_assignment(argv[3], argv[5]);
  if (argc == 3 && what == "worker") return bellwether::node::be_worker(argv[2]);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
