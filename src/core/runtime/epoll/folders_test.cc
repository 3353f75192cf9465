#include <gmock/gmock.h>

#include "core/runtime/epoll/files.h"
#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FoldersTest : public testing::Test {
 protected:
  Status make(const std::string& path, uint32_t mode = 0755) {
    return runtime_->run(runtime_->make_directory(path, mode));
  }
  auto list(const std::string& path) { return runtime_->run(runtime_->list_directory(path)); }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
  }
  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
  TemporaryFolder folder_;
};

TEST_F(FoldersTest, a_folder_is_made_with_those_above_it) {
  ASSERT_TRUE(make(folder_.path("state/locks/deep/"), 0700));
  for (const char* made : {"state", "state/locks", "state/locks/deep"}) EXPECT_EQ(mode_of(folder_.path(made)), 0700U);
}

TEST_F(FoldersTest, one_that_is_there_is_left_as_it_is) {
  ASSERT_TRUE(make(folder_.path("locks"), 0700));
  folder_.file("locks/a", "x");
  EXPECT_TRUE(make(folder_.path("locks"), 0755));
  EXPECT_EQ(mode_of(folder_.path("locks")), 0700U);
  EXPECT_THAT(*list(folder_.path("locks")), ElementsAre("a"));
  EXPECT_TRUE(make("/"));
  EXPECT_TRUE(make("."));
}

TEST_F(FoldersTest, a_file_in_the_way_is_an_error) {
  folder_.file("a", "x");
  const Status on_it = make(folder_.path("a"));
  ASSERT_FALSE(on_it);
  EXPECT_EQ(on_it.error().code, Errc::kExists);
  EXPECT_THAT(on_it.error().message, HasSubstr("'" + folder_.path("a") + "'"));
  EXPECT_THAT(make(folder_.path("a/below")).error().message, HasSubstr("Not a directory"));
  EXPECT_FALSE(make(""));
}

TEST_F(FoldersTest, names_are_listed_in_order) {
  for (const char* name : {"b", "c", ".hidden", "a"}) folder_.file(name, "");
  ASSERT_TRUE(make(folder_.path("folder")));
  EXPECT_THAT(*list(folder_.path()), ElementsAre(".hidden", "a", "b", "c", "folder"));
  EXPECT_THAT(*list(folder_.path("folder")), testing::IsEmpty());
}

TEST_F(FoldersTest, what_cannot_be_listed_says_why) {
  EXPECT_EQ(list(folder_.path("none")).error().code, Errc::kNotFound);
  EXPECT_THAT(list(folder_.file("a", "x")).error().message, HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace bellwether::runtime
