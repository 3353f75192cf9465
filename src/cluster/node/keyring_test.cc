#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "cluster/node/secrets.h"
#include "core/signature/signature_testing.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;

class KeyringTest : public testing::Test {
 protected:
  KeyringTest() {
    std::string path = "/tmp/bellwether-keys-" + std::string(6, 'X');
    folder_ = ::mkdtemp(path.data());
  }
  ~KeyringTest() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ + "/" + name) << text;
    ::chmod((folder_ + "/" + name).c_str(), 0644);
    return folder_ + "/" + name;
  }
  static std::string why_not(const std::string& path) {
    const auto keys = read_keyring(path);
    return keys ? "it was read" : keys.error().message;
  }

  std::string folder_;
};

TEST_F(KeyringTest, is_a_file_or_the_keys_of_a_folder) {
  const std::string file = put("b.pub", signature::kTestPublicKey);
  put("a.pem", signature::kOtherPublicKey);
  put("notes.txt", "ours and theirs");
  const auto one = read_keyring(file);
  const auto all = read_keyring(folder_);
  ASSERT_TRUE(one && all);
  EXPECT_EQ(one->size(), 1u);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->back(), one->front());
}

TEST_F(KeyringTest, what_is_no_keyring_is_told) {
  EXPECT_THAT(why_not(folder_ + "/none"), HasSubstr("/none': No such file"));
  EXPECT_THAT(why_not(folder_), HasSubstr("has no files *.pub or *.pem"));
  put("own.pem", signature::kTestKey);
  EXPECT_THAT(why_not(folder_), HasSubstr("own.pem' has a private key"));
}

// Who may write there could let anything run.
TEST_F(KeyringTest, that_anybody_may_change_is_refused) {
  const std::string file = put("a.pub", signature::kTestPublicKey);
  ::chmod(file.c_str(), 0666);
  EXPECT_THAT(why_not(file), HasSubstr("can be changed by every user: chmod o-w"));
  EXPECT_THAT(why_not(folder_), HasSubstr("can be changed by every user"));
  ::chmod(file.c_str(), 0644);
  ::chmod(folder_.c_str(), 0777);
  EXPECT_THAT(why_not(folder_), HasSubstr("can be changed by every user"));
}

}  // namespace
}  // namespace bellwether::node
