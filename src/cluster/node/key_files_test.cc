#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include "cluster/node/secrets.h"
#include "core/runtime/temporary_testing.h"
#include "core/secret/key_codec.h"
#include "core/secret/secret_testing.h"

namespace bellwether::node {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class KeyFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) { return folder_.path(name); }

  runtime::TemporaryFolder folder_;
  secret::Splitting splitting_ = secret::split_text("the key of the admin", {2, 3});
};

TEST_F(KeyFiles, a_key_share_and_its_commitment_are_read_as_they_were_written) {
  ASSERT_TRUE(write_new_file(path("a.share"), secret::encode(splitting_.shares[0]).bytes(), 0600));
  ASSERT_TRUE(write_new_file(path("c"), as_bytes(secret::encode(splitting_.commitment)), 0644));
  EXPECT_EQ(fs::status(path("a.share")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const auto share = read_key_share(path("a.share"));
  const auto commitment = read_commitment(path("c"));
  ASSERT_TRUE(share && commitment);
  EXPECT_TRUE(commitment->check(*share));
}

TEST_F(KeyFiles, what_is_there_is_never_overwritten) {
  ASSERT_TRUE(write_new_file(path("a"), as_bytes("first"), 0600));
  const Status second = write_new_file(path("a"), as_bytes("other"), 0600);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExists);
  EXPECT_EQ(as_text(read_secret_bytes(path("a"), 100)->bytes()), "first");
}

TEST_F(KeyFiles, a_secret_that_others_can_read_and_a_commitment_that_others_can_change_are_refused) {
  ASSERT_TRUE(write_new_file(path("a.share"), secret::encode(splitting_.shares[0]).bytes(), 0600));
  ASSERT_TRUE(write_new_file(path("c"), as_bytes(secret::encode(splitting_.commitment)), 0644));
  fs::permissions(path("a.share"), fs::perms::group_read, fs::perm_options::add);
  fs::permissions(path("c"), fs::perms::group_write, fs::perm_options::add);
  EXPECT_THAT(read_key_share(path("a.share")).error().message, HasSubstr("read by others: chmod 600"));
  EXPECT_THAT(read_commitment(path("c")).error().message, HasSubstr("changed by others: chmod go-w"));
}

TEST_F(KeyFiles, what_is_no_such_file_is_refused_with_its_name) {
  std::ofstream(path("b")) << "something else";
  fs::permissions(path("b"), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(read_key_share(path("b")).error().message, HasSubstr("/b': "));
  EXPECT_THAT(read_commitment(path("b")).error().message, HasSubstr("/b': "));
  EXPECT_THAT(read_secret_bytes(path("none"), 10).error().message, HasSubstr("/none'"));
  EXPECT_THAT(read_secret_bytes(folder_.path(), 10).error().message, HasSubstr("is not a file"));
  EXPECT_EQ(read_secret_bytes(path("b"), 3).error().code, Errc::kTooLarge);
}

}  // namespace
}  // namespace bellwether::node
