#include "election/store/host/host_store.h"

#include <gmock/gmock.h>
#include <sys/file.h>
#include <vector>

#include "core/base/units.h"
#include "election/store/disk/disk_claim.h"
#include "election/store/disk/store_testing.h"
#include "sim/sim_testing.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::HolderSight;
using testing::HasSubstr;
using HostStoreKind = election::WriteRequest::Kind;

class HostStoreTest : public testing::Test {
 protected:
  std::string url(const std::string& options = "") const { return "flock:" + folder_.path("locks") + options; }
  std::string lock(const std::string& key = "default") const { return folder_.path("locks/" + key + ".lock"); }
  std::string ledger(const std::string& key = "default") const { return folder_.path("locks/" + key + ".epoch"); }
  void make_folder() const { ::mkdir(folder_.path("locks").c_str(), 0700); }
  void write(const std::string& path, const std::string& text) const {
    folder_.file(path.substr(folder_.path().size() + 1), text);
  }
  std::string foreign(const std::string& id) const {
    return R"({"instance_id": ")" + id + R"(", "pid": 1, "claimed_at": ")" +
           format_wall(runtime::test_runtime()->wall_now()) + "\"}";
  }
  runtime::TemporaryFolder folder_;
};

TEST_F(HostStoreTest, looking_makes_no_folder_and_no_file) {
  StoreUser user(url());
  ASSERT_TRUE(user.look());
  EXPECT_FALSE(exists(folder_.path("locks")));
}

TEST_F(HostStoreTest, a_claim_holds_over_a_restart_of_its_reader) {
  const auto taken = StoreUser(url()).take("alice");
  ASSERT_TRUE(taken && taken->applied);
  const auto seen = StoreUser(url()).look();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->record, taken->after.record);
  EXPECT_EQ(seen->sight, HolderSight::kAlive) << "it is this process";
}

TEST_F(HostStoreTest, a_lock_file_that_was_emptied_garbled_or_removed_is_mended_by_the_next_renewal) {
  StoreUser alice(url());
  StoreUser bob(url());
  auto last = alice.take("alice");
  ASSERT_TRUE(last && last->applied);
  for (const char* damage : {"", "{\"instance_id\": \"al", static_cast<const char*>(nullptr)}) {
    if (damage == nullptr) {
      ::unlink(lock().c_str());
    } else {
      write(lock(), damage);
    }
    const auto seen = bob.look();
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->record.holder, "alice");
    EXPECT_THAT(seen->evidence, HasSubstr("alice had not released"));
    const auto refused = alice.renew(last->after);
    ASSERT_TRUE(refused);
    EXPECT_FALSE(refused->applied);
    EXPECT_EQ(refused->after.record.token, "token of alice");
    last = alice.renew(refused->after);
    ASSERT_TRUE(last && last->applied);
    EXPECT_EQ(bob.look()->record.renewal, last->after.record.renewal);
  }
}

TEST_F(HostStoreTest, a_program_that_wrote_over_our_claim_has_the_key_and_the_epoch_goes_on) {
  StoreUser user(url());
  const auto taken = user.take("alice");
  write(lock(), foreign("other"));
  const auto seen = user.look();
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->foreign);
  EXPECT_EQ(seen->record.holder, "other");
  EXPECT_EQ(seen->record.epoch, Epoch(1));
  const auto late = user.renew(taken->after);
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->applied);
  const auto next = user.act(HostStoreKind::kTake, seen->version, StoreUser::claim("alice", *seen));
  ASSERT_TRUE(next && next->applied);
  EXPECT_EQ(next->after.record.epoch, Epoch(2));
}

TEST_F(HostStoreTest, an_epoch_that_was_given_out_is_not_written_again) {
  StoreUser user(url());
  const auto taken = user.take("alice");
  const auto left = user.release(taken->after);
  election::LeaseRecord again = StoreUser::claim("bob", left->after);
  again.epoch = Epoch(1);
  const auto refused = user.act(HostStoreKind::kTake, left->after.version, again);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_FALSE(user.look()->record.held());
}

TEST_F(HostStoreTest, a_lost_epoch_file_stops_everybody_until_the_operator_accepts_the_loss) {
  StoreUser user(url());
  auto taken = user.take("alice");
  for (int i = 0; i < 4; ++i) {
    taken = user.take("alice");
    ASSERT_TRUE(taken && taken->applied);
  }
  for (const char* damage : {"garbage", static_cast<const char*>(nullptr)}) {
    if (damage == nullptr) {
      ::unlink(ledger().c_str());
    } else {
      write(ledger(), damage);
    }
    const auto seen = user.look();
    ASSERT_FALSE(seen);
    EXPECT_THAT(seen.error().message, HasSubstr(ledger()));
    EXPECT_THAT(seen.error().message, HasSubstr("accept_epoch_loss=true"));
    EXPECT_FALSE(user.renew(taken->after));
  }
  StoreUser repairing(url("?accept_epoch_loss=true"));
  const auto repaired = repairing.take("bob");
  ASSERT_TRUE(repaired && repaired->applied) << repaired.error().message;
  EXPECT_EQ(repaired->after.record.epoch, Epoch(6));
  EXPECT_EQ(user.look()->record.epoch, Epoch(6));
}

TEST_F(HostStoreTest, what_is_no_regular_file_is_refused_with_its_name_and_kind) {
  make_folder();
  ASSERT_EQ(::symlink("/etc/hostname", lock("link").c_str()), 0);
  ASSERT_EQ(::mkfifo(lock("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir(lock("folder").c_str(), 0700), 0);
  for (const auto& [key, kind] : {std::pair{"link", "symbolic link"}, {"pipe", "named pipe"}, {"folder", "folder"}}) {
    StoreUser user(url(), key);
    const auto seen = user.look();
    ASSERT_FALSE(seen) << key;
    EXPECT_EQ(seen.error().code, Errc::kInvalid);
    EXPECT_THAT(seen.error().message, testing::AllOf(HasSubstr(lock(key)), HasSubstr(kind)));
    election::LeaseRecord record = StoreUser::claim("alice", {});
    EXPECT_EQ(user.act(HostStoreKind::kTake, "-@0", record).error().code, Errc::kInvalid) << key;
  }
  ASSERT_EQ(::symlink("/nowhere/else", ledger("key").c_str()), 0);
  EXPECT_FALSE(StoreUser(url(), "key").look());
}

TEST_F(HostStoreTest, a_folder_that_may_not_be_used_is_an_error_with_a_remedy) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody without rights";
  make_folder();
  StoreUser user(url());
  ASSERT_EQ(::seteuid(65534), 0);
  const auto seen = user.look();
  const auto taken = user.act(HostStoreKind::kTake, "-@0", StoreUser::claim("alice", {}));
  ASSERT_EQ(::seteuid(0), 0);
  for (const Error& error : {seen.error(), taken.error()}) {
    EXPECT_EQ(error.code, Errc::kRefused);
    EXPECT_THAT(error.message, HasSubstr("needs the right"));
  }
}

TEST_F(HostStoreTest, a_file_where_the_folder_should_be_is_an_error) {
  folder_.file("locks", "");
  StoreUser user(url());
  const auto taken = user.act(HostStoreKind::kTake, "-@0", StoreUser::claim("alice", {}));
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr(folder_.path("locks")));
}

TEST_F(HostStoreTest, what_stands_makes_its_folder_first_or_learns_that_it_cannot_be_made) {
  StoreUser user(url());
  ASSERT_TRUE(user.runtime().run(user.key().prepare()));
  EXPECT_TRUE(exists(folder_.path("locks")));
  ASSERT_TRUE(user.runtime().run(user.key().prepare())) << "it is there";
  StoreUser never("flock:/proc/none/locks");
  const Status made = never.runtime().run(never.key().prepare());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("'/proc/none'"));
  EXPECT_THAT(made.error().message, HasSubstr("name another folder"));
}

TEST_F(HostStoreTest, a_program_that_keeps_the_lock_delays_a_change_to_its_deadline_and_a_look_not_at_all) {
  StoreUser user(url());
  const auto taken = user.take("alice");
  const int fd = ::open(lock().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  const auto refused = user.act(HostStoreKind::kRenew, taken->after.version, taken->after.record, Duration::millis(30));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kTimeout);
  EXPECT_TRUE(user.look());
  ::close(fd);
  EXPECT_TRUE(user.renew(taken->after)->applied);
}

TEST_F(HostStoreTest, names_that_cannot_be_written_as_json_are_refused_before_anything_changes) {
  StoreUser user(url());
  for (const std::string& name : {std::string("a\xff"), std::string(70'000, 'a')}) {
    const auto refused = user.take(name);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kInvalid);
  }
  EXPECT_FALSE(exists(ledger()));
}

TEST_F(HostStoreTest, a_foreign_holder_cannot_be_asked_and_can_be_robbed) {
  make_folder();
  write(lock(), foreign("other"));
  StoreUser user(url());
  const auto seen = user.look();
  election::LeaseRecord wish = seen->record;
  wish.heir = "bob";
  EXPECT_EQ(user.act(HostStoreKind::kAmend, seen->version, wish).error().code, Errc::kUnsupported);
  wish.holder.clear();
  wish.epoch = Epoch(1);
  const auto robbed = user.act(HostStoreKind::kAmend, seen->version, wish);
  ASSERT_TRUE(robbed && robbed->applied);
  EXPECT_EQ(robbed->after.record.heir, "bob");
  EXPECT_EQ(robbed->after.record.epoch, Epoch(1));
  EXPECT_EQ(file_text(lock()), "");
}

TEST_F(HostStoreTest, a_lease_longer_than_nip_le_programs_wait_is_refused_there) {
  StoreUser user(url("?profile=nip-le&refresh=4s"));
  const auto refused = user.take("alice");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::AllOf(HasSubstr("8s"), HasSubstr("10s")));
  EXPECT_TRUE(StoreUser(url("?profile=nip-le")).take("alice")->applied);
}

TEST_F(HostStoreTest, keys_of_other_programs_and_damaged_ones_are_listed) {
  make_folder();
  write(lock("foreign"), foreign("other"));
  write(lock("broken"), "{\"token\": ");
  write(folder_.path("locks/notes.txt"), "");
  ASSERT_TRUE(StoreUser(url(), "agents/one").take("alice")->applied);
  StoreUser user(url());
  const auto listed = user.runtime().run(user.store().list("", 10, user.within(Duration::seconds(10)), nullptr));
  ASSERT_TRUE(listed) << listed.error().message;
  std::vector<std::string> keys;
  for (const ListedKey& one : *listed) keys.push_back(one.key + " " + one.seen.record.holder);
  EXPECT_THAT(keys, testing::ElementsAre("agents/one alice", "broken ", "foreign other"));
  EXPECT_THAT((*listed)[1].seen.evidence, HasSubstr("broken.epoch"));
}

// --- options ---------------------------------------------------------------------------------------------------------

const char* home_only(const char* name) { return std::string_view(name) == "HOME" ? "/home/me" : nullptr; }
const char* with_state(const char* name) { return std::string_view(name) == "XDG_STATE_HOME" ? "/state" : nullptr; }
const char* with_id(const char* name) {
  return std::string_view(name) == "BUZZ_INSTANCE_ELECTION_ID" ? "window-a" : home_only(name);
}
const char* nothing(const char*) { return nullptr; }

Result<HostStoreOptions> parse(const std::string& url, Environment environment = &home_only) {
  return host_store_options(*parse_store_url(url), environment);
}

TEST(HostStoreOptions, folders_have_defaults) {
  EXPECT_EQ(parse("flock:")->folder, "/home/me/.local/state/bellwether/locks");
  EXPECT_EQ(parse("flock:", &with_state)->folder, "/state/bellwether/locks");
  EXPECT_EQ(parse("flock:?profile=nip-le")->folder, "/home/me/.buzz/leader-locks");
  EXPECT_EQ(parse("flock:~/locks/")->folder, "/home/me/locks");
  EXPECT_EQ(parse("flock:relative")->folder, "relative");
  EXPECT_EQ(parse("flock:/var/lock", &nothing)->folder, "/var/lock");
  for (const char* url : {"flock:", "flock:~/x", "flock:?profile=nip-le"}) {
    const auto refused = parse(url, &nothing);
    ASSERT_FALSE(refused) << url;
    EXPECT_THAT(refused.error().message, HasSubstr("HOME"));
  }
}

TEST(HostStoreOptions, the_profile_takes_its_id_and_refresh) {
  const auto options = parse("flock:?profile=nip-le&refresh=2s", &with_id);
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->rules.nip_le);
  EXPECT_EQ(options->rules.own_id, "window-a");
  EXPECT_EQ(options->rules.stale_after(), Duration::seconds(4));
  EXPECT_EQ(parse("flock:?profile=nip-le&id=me", &with_id)->rules.own_id, "me");
  EXPECT_EQ(parse("flock:", &with_id)->rules.own_id, "");
}

TEST(HostStoreOptions, what_makes_no_sense_is_refused) {
  EXPECT_THAT(parse("flock:/x?profile=nip").error().message, HasSubstr("nip-le"));
  EXPECT_THAT(parse("flock:/x?refresh=5s").error().message, HasSubstr("profile nip-le"));
  EXPECT_THAT(parse("flock:/x?profile=nip-le&refresh=0").error().message, HasSubstr("longer than 0"));
  EXPECT_THAT(parse("flock:/x?allow_network_fs=perhaps").error().message, HasSubstr("true or false"));
  EXPECT_THAT(parse("flock:/x?skew=1s").error().message, HasSubstr("unknown option 'skew'"));
}

// --- under the simulator ---------------------------------------------------------------------------------------------

struct Opened {
  bool allow = false;
  std::string outcome;
};

runtime::task<void> open_in_sim(runtime::Runtime& runtime, void* context) {
  auto& opened = *static_cast<Opened*>(context);
  HostStoreOptions options;
  options.folder = "/mnt/locks";
  options.allow_network = opened.allow;
  const auto store = co_await open_host_store(runtime, options);
  opened.outcome = store ? "opened" : store.error().message;
}

TEST(HostStoreOnNetwork, is_refused_unless_allowed) {
  for (const bool allow : {false, true}) {
    sim::World world(1);
    sim::Node& node = world.add_node("node");
    node.disk().settings().network_kind = "nfs4";
    Opened opened{allow, {}};
    node.start(&open_in_sim, &opened);
    world.run_for(Duration::seconds(1));
    EXPECT_THAT(opened.outcome, HasSubstr(allow ? "opened" : "network file system (nfs4)"));
  }
}

// A program that writes in place, slowly, and a reader that comes in between.
struct SlowWriter {
  bool locks = false;
  Duration pause;
  std::string holder;
};

runtime::task<void> write_slowly(runtime::Runtime& runtime, SlowWriter& slow) {
  const runtime::OpenOptions options{.create = true, .write = true};
  const auto file = co_await runtime.open("/locks/key.lock", options);
  if (slow.locks) co_await (*file)->lock(Instant::never(), nullptr);
  const std::string text = R"({"instance_id": "other", "pid": 1, "claimed_at": "2026-01-04T12:00:00Z"})";
  co_await (*file)->write_at(0, as_bytes(std::string_view(text).substr(0, 30)));
  co_await runtime.sleep(slow.pause);
  co_await (*file)->write_at(30, as_bytes(std::string_view(text).substr(30)));
}

runtime::task<void> read_meanwhile(runtime::Runtime& runtime, void* context) {
  auto& slow = *static_cast<SlowWriter*>(context);
  const auto writing = write_slowly(runtime, slow);
  co_await runtime.sleep(Duration::millis(5));
  HostStoreOptions options;
  options.folder = "/locks";
  const auto store = co_await open_host_store(runtime, options);
  const auto key = (*store)->open("key");
  const auto seen = co_await (*key)->look(runtime.now() + Duration::seconds(10), nullptr);
  slow.holder = seen ? seen->record.holder : seen.error().message;
}

TEST(HostStoreTornRead, is_read_again_for_a_while_and_then_under_the_lock) {
  for (const auto& [locks, pause, holder] : {std::tuple{false, Duration::millis(60), "other"},
                                             {false, Duration::millis(500), ""},
                                             {true, Duration::millis(500), "other"}}) {
    sim::World world(1);
    sim::Node& node = world.add_node("node");
    SlowWriter slow{locks, pause, "not read"};
    node.start(&read_meanwhile, &slow);
    world.run_for(Duration::seconds(20));
    EXPECT_EQ(slow.holder, holder) << locks << " " << pause.ms();
  }
}

runtime::task<void> read_in_a_hurry(runtime::Runtime& runtime, void* context) {
  {
    const runtime::OpenOptions options{.create = true, .write = true};
    const auto file = co_await runtime.open("/locks/key.lock", options);
    co_await (*file)->write_at(0, as_bytes("garbage"));
  }
  HostStoreOptions options;
  options.folder = "/locks";
  const auto store = co_await open_host_store(runtime, options);
  const auto key = (*store)->open("key");
  const auto seen = co_await (*key)->look(runtime.now() + Duration::millis(40), nullptr);
  *static_cast<bool*>(context) = seen.has_value();
}

TEST(HostStoreTornRead, takes_no_longer_than_there_is_time) {
  sim::World world(1);
  bool seen = false;
  world.add_node("node").start(&read_in_a_hurry, &seen);
  world.run_for(Duration::seconds(1));
  EXPECT_TRUE(seen);
}

// Somebody has the lock, puts another file in the place of the locked one, and lets go.
runtime::task<void> replace_locked(runtime::Runtime& runtime) {
  const runtime::OpenOptions options{.create = true, .write = true};
  const auto file = co_await runtime.open("/locks/key.lock", options);
  co_await (*file)->lock(Instant::never(), nullptr);
  co_await runtime.sleep(Duration::millis(100));
  auto other = co_await runtime.open("/locks/other", options);
  other->reset();
  co_await runtime.rename("/locks/other", "/locks/key.lock");
}

runtime::task<void> take_meanwhile(runtime::Runtime& runtime, void* context) {
  const auto replacing = replace_locked(runtime);
  co_await runtime.sleep(Duration::millis(20));
  HostStoreOptions options;
  options.folder = "/locks";
  const auto store = co_await open_host_store(runtime, options);
  const auto key = (*store)->open("key");
  election::WriteRequest request;
  request.expected = "-@0";
  request.record = StoreUser::claim("alice", {});
  const auto taken = co_await (*key)->act(std::move(request), runtime.now() + Duration::seconds(10), nullptr);
  *static_cast<bool*>(context) = taken && taken->applied;
}

TEST(HostStoreLock, is_that_of_the_file_which_others_find_there) {
  sim::World world(1);
  sim::Node& node = world.add_node("node");
  bool taken = false;
  node.start(&take_meanwhile, &taken);
  world.run_for(Duration::seconds(20));
  EXPECT_TRUE(taken);
  EXPECT_THAT(node.disk().text_of("/locks/key.lock"), HasSubstr("alice"));
}

}  // namespace
}  // namespace bellwether::store
