#include "load/report/write_file.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bellwether::report {
namespace {

namespace fs = std::filesystem;

class WriteFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "bellwether-report-" + std::string(6, 'X');
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string content_of(const std::string& path) {
    std::ifstream in(path);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

TEST_F(WriteFile, makes_a_new_file_and_leaves_nothing_beside_it) {
  ASSERT_TRUE(write_file(path("a.json"), "hello"));
  EXPECT_EQ(content_of(path("a.json")), "hello");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteFile, says_beforehand_whether_it_could_and_leaves_everything_as_it_was) {
  EXPECT_TRUE(can_write_file(path("a.json")));
  EXPECT_EQ(files(), 0u);
  ASSERT_TRUE(write_file(path("a.json"), "old"));
  EXPECT_TRUE(can_write_file(path("a.json")));
  EXPECT_EQ(content_of(path("a.json")), "old");
  EXPECT_EQ(files(), 1u);

  EXPECT_EQ(can_write_file(path("nowhere/a.json")).error().code, Errc::kNotFound);
  EXPECT_FALSE(can_write_file(folder_)) << "a folder";
  EXPECT_FALSE(can_write_file(path("a.json/b"))) << "a file is no folder";
}

TEST_F(WriteFile, replaces_an_old_file_whole_and_keeps_its_permissions) {
  ASSERT_TRUE(write_file(path("a.json"), "a much longer old content"));
  ASSERT_EQ(::chmod(path("a.json").c_str(), 0640), 0);
  ASSERT_TRUE(write_file(path("a.json"), "new"));
  EXPECT_EQ(content_of(path("a.json")), "new");
  EXPECT_EQ(fs::status(path("a.json")).permissions(), fs::perms{0640});
}

TEST_F(WriteFile, follows_a_symbolic_link) {
  ASSERT_TRUE(write_file(path("real"), "old"));
  fs::create_symlink("real", path("link"));
  ASSERT_TRUE(write_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content_of(path("real")), "new");
}

TEST_F(WriteFile, a_missing_folder_is_named_with_the_remedy) {
  const Status status = write_file(path("no/such/a.json"), "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kNotFound);
  EXPECT_NE(status.error().message.find(path("no/such/a.json")), std::string::npos);
  EXPECT_NE(status.error().message.find("make its folder first"), std::string::npos);
}

TEST_F(WriteFile, a_full_disk_is_said_with_the_remedy) {
  // Through a descriptor: tests run as root too, and must never hand a device's path to what replaces files.
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const Status status = write_to(full, "x", "/dev/full");
  ::close(full);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kNoSpace);
  EXPECT_NE(status.error().message.find("free some space"), std::string::npos);
}

TEST_F(WriteFile, a_failure_in_the_middle_keeps_the_old_file_and_removes_the_half_written_one) {
  ASSERT_TRUE(write_file(path("a.json"), "old"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_file(path("a.json"), std::string(5000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(status);
  EXPECT_EQ(content_of(path("a.json")), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteFile, a_pipe_is_written_to_and_not_replaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::FILE* both_ends = std::fopen(path("pipe").c_str(), "r+");
  ASSERT_NE(both_ends, nullptr);
  ASSERT_TRUE(write_file(path("pipe"), "through"));
  std::array<char, 7> got{};
  EXPECT_EQ(std::fread(got.data(), 1, got.size(), both_ends), got.size());
  EXPECT_EQ(std::string_view(got.data(), got.size()), "through");
  std::fclose(both_ends);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(WriteFile, a_folder_in_its_place_is_an_error) {
  fs::create_directory(path("dir"));
  EXPECT_FALSE(write_file(path("dir"), "x"));
  EXPECT_TRUE(fs::is_directory(path("dir")));
}

}  // namespace
}  // namespace bellwether::report
