#include <gmock/gmock.h>

#include "core/runtime/scope.h"
#include "sim/disk.h"
#include "sim/sim_testing.h"

namespace bellwether::sim {
namespace {

using runtime::File;
using runtime::Runtime;
using runtime::task;
using testing::ElementsAre;

struct Log {
  std::vector<std::string> lines;
  void add(std::string_view what, const Status& status) {
    lines.push_back(std::string(what) + ": " + std::string(to_string(status ? Errc::kOk : status.error().code)));
  }
  void add(std::string_view what, bool yes) { lines.push_back(std::string(what) + (yes ? ": yes" : ": no")); }
};

task<std::unique_ptr<File>> open(Runtime& runtime, std::string path) {
  auto opened = co_await runtime.open(std::move(path), kMake);
  check(opened.has_value());
  co_return std::move(*opened);
}

class DiskFileTest : public testing::Test {
 protected:
  Log log_;
  World world_{5};
  Node& node_ = world_.add_node("node");
};

task<void> lock_in_turn(Runtime& runtime, void* context) {
  auto& log = *static_cast<Log*>(context);
  auto first = co_await open(runtime, "/run/a");
  auto second = co_await open(runtime, "/run/a");
  auto locked = co_await first->lock(runtime.now(), nullptr);
  log.add("first", locked);
  const Instant deadline = runtime.now() + Duration::seconds(1);
  locked = co_await second->lock(deadline, nullptr);
  log.add("second", locked);
  log.add("waited", runtime.now() >= deadline && runtime.now() < deadline + Duration::millis(10));
  co_await second->unlock();
  locked = co_await second->lock(runtime.now(), nullptr);
  log.add("second after unlocking what is not its own", locked);
  auto waiting = second->lock(Instant::never(), nullptr);
  co_await runtime.sleep(Duration::seconds(1));
  first.reset();
  locked = co_await waiting;
  log.add("second after the first has gone", locked);
  co_await second->unlock();
  first = co_await open(runtime, "/run/a");
  locked = co_await first->lock(runtime.now(), nullptr);
  log.add("first after unlocking", locked);
  runtime::Cancellation cancel;
  auto cancelled = second->lock(Instant::never(), &cancel);
  co_await runtime.sleep(Duration::seconds(1));
  cancel.cancel();
  locked = co_await cancelled;
  log.add("cancelled", locked);
}

TEST_F(DiskFileTest, one_open_file_has_the_lock) {
  node_.start(&lock_in_turn, &log_);
  world_.run_for(Duration::seconds(10));
  EXPECT_THAT(
      log_.lines,
      ElementsAre("first: ok", "second: timeout", "waited: yes", "second after unlocking what is not its own: timeout",
                  "second after the first has gone: ok", "first after unlocking: ok", "cancelled: cancelled"));
}

task<void> lock_and_stay(Runtime& runtime, void* context) {
  auto file = co_await open(runtime, "/run/a");
  const Status locked = co_await file->lock(runtime.now(), nullptr);
  static_cast<Log*>(context)->add("locked", locked);
  co_await runtime.sleep_until(Instant::never());
}

TEST_F(DiskFileTest, a_killed_process_and_a_lost_machine_give_their_locks_back) {
  node_.start(&lock_and_stay, &log_);
  world_.run_for(Duration::seconds(1));
  node_.kill();
  node_.restart();
  world_.run_for(Duration::seconds(1));
  node_.lose_power();
  node_.restart();
  world_.run_for(Duration::seconds(1));
  EXPECT_THAT(log_.lines, ElementsAre("locked: ok", "locked: ok", "locked: ok"));
}

task<void> replace_file(Runtime& runtime, void* context) {
  auto& log = *static_cast<Log*>(context);
  auto file = co_await open(runtime, "/run/a");
  auto other = co_await open(runtime, "/run/b");
  auto same = co_await file->is_at("/run/a");
  log.add("at its name", *same);
  auto locked = co_await file->lock(runtime.now(), nullptr);
  co_await runtime.rename("/run/b", "/run/a");
  same = co_await file->is_at("/run/a");
  log.add("replaced, at its name", *same);
  locked = co_await other->lock(runtime.now(), nullptr);
  log.add("lock of the one in its place", locked);
  co_await runtime.remove("/run/a");
  same = co_await other->is_at("/run/a");
  log.add("removed, at its name", *same);
}

TEST_F(DiskFileTest, locks_belong_to_the_file_and_not_to_its_name) {
  node_.start(&replace_file, &log_);
  world_.run_for(Duration::seconds(1));
  EXPECT_THAT(log_.lines, ElementsAre("at its name: yes", "replaced, at its name: no",
                                      "lock of the one in its place: ok", "removed, at its name: no"));
}

task<void> use_folders(Runtime& runtime, void* context) {
  auto& lines = static_cast<Log*>(context)->lines;
  auto names = co_await runtime.list_directory("/state/locks");
  lines.emplace_back(to_string(names.error().code));
  co_await runtime.make_directory("/state/locks/", 0700);
  names = co_await runtime.list_directory("/state/locks");
  lines.push_back(std::to_string(names->size()) + " names");
  auto refused = co_await runtime.open("/state/locks", kMake);
  lines.emplace_back(to_string(refused.error().code));
  for (const char* name : {"/state/locks/b", "/state/locks/a", "/state/locksmith", "/state/locks/deep/c"}) {
    auto file = co_await open(runtime, name);
  }
  names = co_await runtime.list_directory("/state/locks");
  for (const std::string& name : *names) lines.push_back(name);
  const Status on_file = co_await runtime.make_directory("/state/locks/a", 0700);
  lines.emplace_back(to_string(on_file.error().code));
  auto kind = co_await runtime.network_file_system("/state");
  lines.push_back("'" + *kind + "'");
}

TEST_F(DiskFileTest, folders_are_made_and_listed) {
  node_.disk().settings().network_kind = "nfs";
  node_.start(&use_folders, &log_);
  world_.run_for(Duration::seconds(1));
  EXPECT_THAT(log_.lines, ElementsAre("not_found", "0 names", "invalid", "a", "b", "deep", "exists", "'nfs'"));
}

}  // namespace
}  // namespace bellwether::sim
