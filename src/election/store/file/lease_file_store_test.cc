#include "election/store/file/lease_file_store.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "core/base/units.h"
#include "election/store/disk/small_file.h"
#include "election/store/disk/store_testing.h"
#include "sim/sim_testing.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using testing::HasSubstr;
using Json = nlohmann::json;
using LeaseFileStoreKind = election::WriteRequest::Kind;

class LeaseFileStoreTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path("state.json"); }
  std::string url(const std::string& options = "") const { return "file:" + path() + options; }
  void write(const std::string& text) const { folder_.file("state.json", text); }
  Json lease() const { return Json::parse(file_text(path()), nullptr, false); }
  std::string foreign(uint64_t epoch, Duration ahead = Duration::zero()) const {
    const WallTime at{runtime::test_runtime()->wall_now().unix_ns + ahead.ns()};
    return Json{
        {"leader_id", "agent-1"}, {"leader_epoch", epoch}, {"last_heartbeat", format_wall(at)}, {"ttl_ms", 180000}}
        .dump(2);
  }
  std::vector<std::string> put_aside() const {
    std::vector<std::string> names;
    DIR* folder = ::opendir(folder_.path().c_str());
    while (const dirent* entry = ::readdir(folder)) {
      const std::string name = entry->d_name;
      if (name.find(".quarantine-") != std::string::npos) names.push_back(folder_.path(name));
    }
    ::closedir(folder);
    std::sort(names.begin(), names.end());
    return names;
  }
  runtime::TemporaryFolder folder_;
};

TEST_F(LeaseFileStoreTest, other_programs_read_who_leads) {
  StoreUser user(url());
  ASSERT_TRUE(user.take("agent-7")->applied);
  EXPECT_EQ(lease()["leader_id"], "agent-7");
  EXPECT_EQ(lease()["leader_epoch"], 1);
  EXPECT_EQ(lease()["ttl_ms"], 10000);
  EXPECT_TRUE(parse_wall(lease()["last_heartbeat"].get<std::string>()));
}

TEST_F(LeaseFileStoreTest, a_lease_of_another_program_is_taken_over_with_the_next_epoch) {
  write(foreign(42));
  StoreUser user(url());
  const auto taken = user.take("alice");
  ASSERT_TRUE(taken && taken->applied);
  EXPECT_EQ(taken->after.record.epoch, Epoch(43));
  EXPECT_EQ(lease()["leader_epoch"], 43);
}

TEST_F(LeaseFileStoreTest, another_program_that_writes_over_ours_is_noticed_and_the_epoch_goes_on_from_the_highest) {
  StoreUser user(url());
  write(foreign(42));
  const auto taken = user.take("alice");
  write(foreign(1));
  const auto late = user.renew(taken->after);
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->applied);
  EXPECT_EQ(late->after.record.holder, "agent-1");
  EXPECT_EQ(user.take("bob")->after.record.epoch, Epoch(44));
}

TEST_F(LeaseFileStoreTest, the_epoch_survives_a_file_that_is_emptied_replaced_or_removed) {
  StoreUser user(url());
  uint64_t epoch = 0;
  for (const char* damage : {"", "{}", R"({"leader_id": "x", "leader_epoch": 1, "last_heartbeat":
                                        "2020-01-01T00:00:00Z", "ttl_ms": 5})",
                             static_cast<const char*>(nullptr)}) {
    const auto taken = user.take("alice");
    ASSERT_TRUE(taken && taken->applied);
    EXPECT_EQ(taken->after.record.epoch, Epoch(++epoch));
    if (damage == nullptr) {
      ::unlink(path().c_str());
    } else {
      write(damage);
    }
  }
  EXPECT_EQ(user.take("alice")->after.record.epoch, Epoch(epoch + 1));
}

TEST_F(LeaseFileStoreTest, a_damaged_file_is_mended_by_its_holder_and_put_aside_for_the_operator) {
  StoreUser alice(url());
  StoreUser bob(url());
  const auto taken = alice.take("alice");
  write("{\"leader_id\": \"al");
  const auto seen = bob.look();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->record.holder, "alice");
  EXPECT_THAT(seen->evidence, HasSubstr("cannot be read (it is not JSON)"));
  EXPECT_TRUE(put_aside().empty()) << "looking changes nothing";
  const auto refused = alice.renew(taken->after);
  EXPECT_FALSE(refused->applied);
  ASSERT_TRUE(alice.renew(refused->after)->applied);
  EXPECT_EQ(lease()["leader_id"], "alice");
  ASSERT_EQ(put_aside().size(), 1u);
  EXPECT_EQ(file_text(put_aside()[0]), "{\"leader_id\": \"al");
}

TEST_F(LeaseFileStoreTest, only_so_many_damaged_files_are_kept_and_the_oldest_go_first) {
  StoreUser user(url());
  for (std::size_t i = 0; i < kMaxQuarantined + 3; ++i) {
    write("damage " + std::to_string(i));
    ASSERT_TRUE(user.take("alice")->applied);
  }
  ASSERT_EQ(put_aside().size(), kMaxQuarantined);
  EXPECT_EQ(file_text(put_aside().front()), "damage 3");
  EXPECT_EQ(file_text(put_aside().back()), "damage " + std::to_string(kMaxQuarantined + 2));
}

TEST_F(LeaseFileStoreTest, a_file_that_is_too_long_is_put_aside_as_it_is) {
  const std::string text = foreign(3) + std::string(70'000, ' ');
  write(text);
  StoreUser user(url());
  EXPECT_THAT(user.look()->evidence, HasSubstr("64 KiB"));
  ASSERT_TRUE(user.take("alice")->applied);
  EXPECT_EQ(file_text(put_aside().at(0)), text);
}

TEST_F(LeaseFileStoreTest, a_lease_from_the_future_is_no_lease_for_others_and_goes_on_for_its_holder) {
  write(foreign(3, Duration::minutes(5)));
  StoreUser user(url());
  const auto refused = user.look();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("clocks"));
  EXPECT_FALSE(StoreUser(url()).take("alice"));
  StoreUser lenient(url("?skew=10m"));
  const auto seen = lenient.look();
  ASSERT_TRUE(seen);
  const auto stolen = user.act(LeaseFileStoreKind::kTake, seen->version, StoreUser::claim("alice", *seen));
  EXPECT_FALSE(stolen) << "also for who looked before the clock was set back";
  EXPECT_TRUE(lenient.act(LeaseFileStoreKind::kTake, seen->version, StoreUser::claim("alice", *seen))->applied);
}

TEST_F(LeaseFileStoreTest, a_release_leaves_a_lease_that_has_run_out) {
  StoreUser user(url());
  const auto taken = user.take("alice");
  const auto left = user.release(taken->after, "bob");
  ASSERT_TRUE(left && left->applied);
  EXPECT_EQ(lease()["leader_id"], "");
  EXPECT_EQ(lease()["leader_epoch"], 1);
  EXPECT_EQ(lease()["ttl_ms"], 0);
  EXPECT_EQ(lease()["last_heartbeat"], "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(user.look()->record.heir, "bob");
}

TEST_F(LeaseFileStoreTest, our_programs_wait_for_each_other_on_a_file_that_stays) {
  StoreUser user(url());
  const auto taken = user.take("alice");
  const int fd = ::open((path() + ".lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  const auto refused =
      user.act(LeaseFileStoreKind::kRenew, taken->after.version, taken->after.record, Duration::millis(30));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kTimeout);
  ASSERT_EQ(::flock(fd, LOCK_UN), 0);
  EXPECT_TRUE(user.renew(taken->after)->applied);
  struct stat locked {};
  struct stat named {};
  ::fstat(fd, &locked);
  ASSERT_EQ(::stat((path() + ".lock").c_str(), &named), 0);
  EXPECT_EQ(locked.st_ino, named.st_ino);
  ::close(fd);
}

TEST_F(LeaseFileStoreTest, a_link_is_not_followed) {
  ASSERT_EQ(::symlink("/etc/hostname", path().c_str()), 0);
  EXPECT_THAT(StoreUser(url()).look().error().message, HasSubstr("symbolic link"));
}

TEST_F(LeaseFileStoreTest, one_file_has_one_key_which_its_name_means_too) {
  StoreUser user(url());
  ASSERT_TRUE(user.take("alice")->applied);
  EXPECT_EQ(StoreUser(url(), "state.json").look()->record.holder, "alice");
  const auto refused = user.store().open("other");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::AllOf(HasSubstr("'default'"), HasSubstr("file:FOLDER/")));
  const auto listed = user.runtime().run(user.store().list("", 5, user.within(Duration::seconds(5)), nullptr));
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().key, "default");
  EXPECT_TRUE(user.runtime().run(user.store().list("x", 5, user.within(Duration::seconds(5)), nullptr))->empty());
}

TEST_F(LeaseFileStoreTest, a_folder_has_a_file_for_each_key) {
  const std::string folder = "file:" + folder_.path("leases") + "/";
  ASSERT_TRUE(StoreUser(folder, "one").take("alice")->applied);
  ASSERT_TRUE(StoreUser(folder, "agents/two").take("bob")->applied);
  EXPECT_TRUE(exists(folder_.path("leases/one.json")));
  StoreUser user(folder);
  const auto listed = user.runtime().run(user.store().list("", 5, user.within(Duration::seconds(5)), nullptr));
  ASSERT_TRUE(listed);
  std::vector<std::string> keys;
  for (const ListedKey& one : *listed) keys.push_back(one.key + " " + one.seen.record.holder);
  EXPECT_THAT(keys, testing::ElementsAre("agents/two bob", "one alice"));
}

TEST(LeaseFileOptions, the_url_says_what_there_is) {
  const auto parse = [](const std::string& url) { return lease_file_options(*parse_store_url(url)); };
  EXPECT_EQ(parse("file:memory/state.json")->path, "memory/state.json");
  EXPECT_FALSE(parse("file:memory/state.json")->folder);
  EXPECT_TRUE(parse("file:/var/leases/")->folder);
  EXPECT_EQ(parse("file:///var/leases/")->path, "/var/leases");
  EXPECT_EQ(parse("file:/x?skew=2s")->rules.skew, Duration::seconds(2));
  EXPECT_THAT(parse("file:").error().message, HasSubstr("name the lease file"));
  EXPECT_THAT(parse("file:/x?profile=y").error().message, HasSubstr("unknown option 'profile'"));
  EXPECT_THAT(parse("file:/x?skew=much").error().message, HasSubstr("skew"));
}

// A foreign program writes between our reading and our writing.
struct Collision {
  std::string outcome;
  std::string text;
};

runtime::task<void> overwrite(runtime::Runtime& runtime) {
  co_await runtime.sleep(Duration::millis(12));
  const runtime::OpenOptions options{.create = true, .truncate = true, .write = true};
  const auto file = co_await runtime.open("/m/state.json", options);
  co_await (*file)->write_at(0, as_bytes("{\"leader_id\": \"agent-1\"}"));
}

runtime::task<void> take_beside(runtime::Runtime& runtime, void* context) {
  auto& collision = *static_cast<Collision*>(context);
  LeaseFileOptions options;
  options.path = "/m/state.json";
  const auto store = co_await open_lease_file_store(runtime, options);
  const auto key = (*store)->open("default");
  const auto seen = co_await (*key)->look(runtime.now() + Duration::seconds(5), nullptr);
  const auto writing = overwrite(runtime);
  election::WriteRequest request;
  request.expected = seen->version;
  request.record = StoreUser::claim("alice", *seen);
  const auto taken = co_await (*key)->act(std::move(request), runtime.now() + Duration::seconds(5), nullptr);
  collision.outcome = taken ? "taken" : taken.error().message;
}

TEST(LeaseFileCollision, with_a_program_that_takes_no_lock_is_noticed_up_to_the_last_moment) {
  sim::World world(3);
  sim::Node& node = world.add_node("node");
  node.disk().settings().sync_min = node.disk().settings().sync_max = Duration::millis(5);
  Collision collision;
  node.start(&take_beside, &collision);
  world.run_for(Duration::seconds(10));
  EXPECT_THAT(collision.outcome, HasSubstr("at the same time"));
  EXPECT_EQ(node.disk().text_of("/m/state.json"), "{\"leader_id\": \"agent-1\"}");
}

}  // namespace
}  // namespace bellwether::store
