#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cluster/net/kv.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::cluster {
namespace {

using testing::HasSubstr;

class SqliteKvTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/node.db"; }
  std::unique_ptr<Kv> open() {
    auto kv = runtime_->run(open_sqlite_kv(*runtime_, path()));
    EXPECT_TRUE(kv) << kv.error().message;
    return kv ? std::move(*kv) : nullptr;
  }
  Error opening_fails() {
    auto kv = runtime_->run(open_sqlite_kv(*runtime_, path()));
    EXPECT_FALSE(kv);
    return kv ? Error() : kv.error();
  }
  Status put(Kv& kv, std::vector<KvChange> changes) { return runtime_->run(kv.put(std::move(changes))); }
  std::optional<std::string> get(Kv& kv, std::string key) {
    auto value = runtime_->run(kv.get(std::move(key)));
    EXPECT_TRUE(value) << value.error().message;
    return value ? *value : std::nullopt;
  }
  // Changes the file behind its back.
  void execute(const char* sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  runtime::TemporaryFolder folder_;
  std::unique_ptr<runtime::EpollRuntime> runtime_ = std::move(*runtime::EpollRuntime::create({}));
};

TEST_F(SqliteKvTest, what_was_put_is_there_after_a_restart) {
  {
    auto kv = open();
    EXPECT_EQ(get(*kv, "term"), std::nullopt);
    ASSERT_TRUE(put(*kv, {{"term", "7"}, {"vote", std::string("a\0b", 3)}}));
    EXPECT_EQ(get(*kv, "term"), "7");
  }
  auto kv = open();
  EXPECT_EQ(get(*kv, "term"), "7");
  EXPECT_EQ(get(*kv, "vote"), std::string("a\0b", 3));
  ASSERT_TRUE(put(*kv, {{"term", "8"}, {"vote", std::nullopt}}));
  EXPECT_EQ(get(*kv, "term"), "8");
  EXPECT_EQ(get(*kv, "vote"), std::nullopt);
}

TEST_F(SqliteKvTest, lists_what_begins_with_a_prefix_in_order) {
  auto kv = open();
  ASSERT_TRUE(put(*kv, {{"job/b", "2"}, {"job/a", "1"}, {"joc", "3"}, {"jo", "0"}}));
  const auto found = runtime_->run(kv->list("job/"));
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, testing::ElementsAre(testing::Pair("job/a", "1"), testing::Pair("job/b", "2")));
}

TEST_F(SqliteKvTest, changes_that_cannot_all_be_made_are_not_made_at_all) {
  auto kv = open();
  const Status done = put(*kv, {{"a", "1"}, {"b", std::string(Kv::kMaxValueBytes + 1, 'x')}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kTooLarge);
  EXPECT_EQ(get(*kv, "a"), std::nullopt);
}

TEST_F(SqliteKvTest, a_node_that_is_started_twice_is_refused) {
  auto kv = open();
  ASSERT_TRUE(put(*kv, {{"a", "1"}}));
  const Error error = opening_fails();
  EXPECT_EQ(error.code, Errc::kExists);
  EXPECT_THAT(error.message, HasSubstr("is this node running already?"));
  EXPECT_EQ(get(*kv, "a"), "1");
}

TEST_F(SqliteKvTest, a_damaged_value_is_an_error_and_not_nothing) {
  {
    auto kv = open();
    ASSERT_TRUE(put(*kv, {{"vote", "m1"}, {"term", "7"}}));
  }
  execute("UPDATE kv SET value=(SELECT value FROM kv WHERE key=CAST('term' AS BLOB)) WHERE key=CAST('vote' AS BLOB)");
  auto kv = open();
  const auto vote = runtime_->run(kv->get("vote"));
  ASSERT_FALSE(vote);
  EXPECT_EQ(vote.error().code, Errc::kInvalid);
  EXPECT_EQ(get(*kv, "term"), "7");
  EXPECT_FALSE(runtime_->run(kv->list("")));
}

TEST_F(SqliteKvTest, what_is_no_database_of_ours_is_refused) {
  std::ofstream(path()) << std::string(5000, 'x');
  EXPECT_EQ(opening_fails().code, Errc::kInvalid);
  std::remove(path().c_str());
  execute("CREATE TABLE theirs(a)");
  EXPECT_THAT(opening_fails().message, HasSubstr("another program"));
}

TEST_F(SqliteKvTest, what_a_newer_version_wrote_is_left_alone) {
  open();
  execute("PRAGMA user_version=2");
  const Error error = opening_fails();
  EXPECT_EQ(error.code, Errc::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("formats up to 1"));
}

TEST_F(SqliteKvTest, is_for_its_owner_only) {
  auto kv = open();
  ASSERT_TRUE(put(*kv, {{"a", "1"}}));
  for (const char* suffix : {"", "-wal"}) {
    struct stat status {};
    ASSERT_EQ(::stat((path() + suffix).c_str(), &status), 0) << suffix;
    EXPECT_EQ(status.st_mode & 0777u, 0600u) << suffix;
  }
}

TEST_F(SqliteKvTest, after_a_write_that_failed_nothing_is_believed_until_it_is_opened_again) {
  {
    auto kv = open();
    ASSERT_TRUE(put(*kv, {{"term", "7"}}));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit none{1, before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
    const Status failed = put(*kv, {{"term", "8"}});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::kIo);
    EXPECT_EQ(put(*kv, {{"term", "9"}}).error().code, Errc::kIo);
    EXPECT_FALSE(runtime_->run(kv->get("term")));
  }
  auto kv = open();
  EXPECT_EQ(get(*kv, "term"), "7");
  EXPECT_TRUE(put(*kv, {{"term", "9"}}));
}

TEST_F(SqliteKvTest, a_folder_that_is_not_there_is_named) {
  auto kv = runtime_->run(open_sqlite_kv(*runtime_, folder_.path() + "/none/node.db"));
  ASSERT_FALSE(kv);
  EXPECT_EQ(kv.error().code, Errc::kNotFound);
  EXPECT_THAT(kv.error().message, HasSubstr("none/node.db"));
}

}  // namespace
}  // namespace bellwether::cluster
