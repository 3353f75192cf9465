#include "cluster/local_cluster/folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/runtime/temporary_testing.h"
#include "core/runtime/tls.h"

namespace bellwether::local_cluster {
namespace {

using Use = Folder::Use;

class FolderTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path("cluster"); }
  Folder open(Use use = Use::kMake) {
    auto opened = Folder::open(path(), use);
    check(opened.has_value(), "the folder of a test opens");
    return std::move(*opened);
  }
  mode_t mode(const std::string& name) const {
    struct stat status {};
    return ::stat((path() + "/" + name).c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }
  static Layout layout() { return make_layout(Shape(), 20'000); }

  runtime::TemporaryFolder folder_;
};

TEST_F(FolderTest, a_new_folder_is_empty_and_remembers_what_is_written) {
  const Folder folder = open();
  EXPECT_FALSE(*folder.read());
  ASSERT_TRUE(folder.write(layout()));
  EXPECT_EQ(**folder.read(), layout());
  EXPECT_EQ(mode(""), 0700u);
}

TEST_F(FolderTest, one_command_at_a_time_works_with_it_and_others_may_look) {
  const Folder first = open();
  ASSERT_TRUE(first.write(layout()));
  const auto second = Folder::open(path(), Use::kKnown);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExists);
  EXPECT_TRUE(Folder::open(path(), Use::kLook));
}

TEST_F(FolderTest, a_folder_of_somebody_else_is_left_as_it_is) {
  folder_.file("thesis.txt", "years of work");
  const auto opened = Folder::open(folder_.path(), Use::kMake);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kInvalid);
  EXPECT_THAT(opened.error().message, testing::HasSubstr("--dir"));
  EXPECT_NE(::access(folder_.path("lock").c_str(), F_OK), 0);
  EXPECT_EQ(Folder::open(folder_.path(), Use::kKnown).error().code, Errc::kNotFound);
  EXPECT_EQ(Folder::open(path(), Use::kLook).error().code, Errc::kNotFound);
}

TEST_F(FolderTest, secrets_and_keys_are_for_their_owner_alone_and_certificates_are_good) {
  const Folder folder = open();
  ASSERT_TRUE(folder.furnish(layout()));
  for (const char* name : {"secret", "m1-key.pem", "client-key.pem", "w1.yaml"}) EXPECT_EQ(mode(name), 0600u) << name;
  for (const std::string name : {"m1", "w2", "client"}) {
    const auto tls = runtime::TlsContext::server(
        {path() + "/" + name + ".pem", path() + "/" + name + "-key.pem", {}, path() + "/ca.pem"});
    EXPECT_TRUE(tls) << tls.error().message;
  }
}

TEST_F(FolderTest, purging_removes_what_is_its_own_and_nothing_else) {
  const Folder folder = open();
  ASSERT_TRUE(folder.write(layout()));
  ASSERT_TRUE(folder.furnish(layout()));
  ASSERT_EQ(::mkdir((path() + "/m1").c_str(), 0700), 0);
  folder_.file("cluster/m1/node.db", "data");
  folder_.file("cluster/notes.txt", "of a person");
  EXPECT_EQ(*folder.purge(layout()), false);
  EXPECT_EQ(mode("notes.txt"), 0600u);
  EXPECT_EQ(mode("m1"), 0u);
  EXPECT_EQ(mode("secret"), 0u);
  ASSERT_EQ(::unlink((path() + "/notes.txt").c_str()), 0);
  EXPECT_EQ(*folder.purge(layout()), true);
}

TEST_F(FolderTest, last_lines_are_the_end_of_its_log) {
  const Folder folder = open();
  const LocalNode m1 = layout().nodes[0];
  EXPECT_EQ(folder.last_lines(m1), "");
  folder_.file("cluster/m1.log", std::string(5'000, 'x') + "\none\ntwo\nthree\x1b[2J\nfour\nfive\n");
  EXPECT_EQ(folder.last_lines(m1), "\n  two\n  three?[2J\n  four\n  five");
}

}  // namespace
}  // namespace bellwether::local_cluster
