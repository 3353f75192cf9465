#include "core/runtime/epoll/files.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {
namespace {

using testing::HasSubstr;

const OpenOptions kRead{};
const OpenOptions kWrite{.write = true};
const OpenOptions kCreate{.create = true, .write = true};

class FilesTest : public testing::Test {
 protected:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenOptions options) {
    return runtime_->run(runtime_->open(path, options));
  }
  std::string read(File& file, uint64_t offset, std::size_t size) {
    std::vector<std::byte> buffer(size);
    const auto n = runtime_->run(file.read_at(offset, buffer));
    EXPECT_TRUE(n);
    return std::string(as_text(Bytes(buffer).first(*n)));
  }
  Status write(File& file, uint64_t offset, std::string_view text) {
    return runtime_->run(file.write_at(offset, as_bytes(text)));
  }
  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
  TemporaryFolder folder_;
};

TEST_F(FilesTest, what_is_written_is_read_back) {
  const auto file = open(folder_.path("a"), kCreate);
  ASSERT_TRUE(file);
  ASSERT_TRUE(write(**file, 0, "hello world"));
  ASSERT_TRUE(write(**file, 6, "there"));
  EXPECT_TRUE(runtime_->run((*file)->sync()));
  EXPECT_EQ(read(**file, 0, 100), "hello there");
  EXPECT_EQ(read(**file, 6, 3), "the");
  EXPECT_EQ(read(**file, 11, 5), "");
  EXPECT_EQ(read(**file, 1000, 5), "");
  EXPECT_EQ(*(*file)->size(), 11U);
  EXPECT_EQ(read(**open(folder_.path("a"), kRead), 0, 5), "hello");
}

TEST_F(FilesTest, large_writes_are_whole_and_gaps_are_zeros) {
  const auto file = open(folder_.path("a"), kCreate);
  const std::string large = pattern(5 << 20);
  ASSERT_TRUE(write(**file, 3, large));
  EXPECT_TRUE(read(**file, 3, large.size()) == large);
  EXPECT_EQ(read(**file, 0, 3), std::string(3, '\0'));
}

TEST_F(FilesTest, operations_keep_their_order_without_being_waited_for) {
  const auto file = open(folder_.path("a"), kCreate);
  auto first = (*file)->write_at(0, as_bytes("one"));
  auto second = (*file)->write_at(0, as_bytes("two"));
  std::array<std::byte, 3> buffer{};
  auto reading = (*file)->read_at(0, buffer);
  EXPECT_EQ(*runtime_->run(std::move(reading)), 3U);
  EXPECT_EQ(as_text(buffer), "two");
  EXPECT_TRUE(runtime_->run(std::move(first)));
  EXPECT_TRUE(runtime_->run(std::move(second)));
}

TEST_F(FilesTest, options_say_what_may_be_there) {
  EXPECT_EQ(open(folder_.path("a"), kRead).error().code, Errc::kNotFound);
  EXPECT_EQ(open(folder_.path("a"), kWrite).error().code, Errc::kNotFound);
  EXPECT_TRUE(open(folder_.path("a"), {.create = true, .exclusive = true, .write = true}));
  EXPECT_EQ(open(folder_.path("a"), {.create = true, .exclusive = true, .write = true}).error().code, Errc::kExists);
  ASSERT_TRUE(write(**open(folder_.path("a"), kWrite), 0, "text"));
  EXPECT_EQ(*(*open(folder_.path("a"), kCreate))->size(), 4U);
  EXPECT_EQ(*(*open(folder_.path("a"), {.truncate = true, .write = true}))->size(), 0U);
}

TEST_F(FilesTest, a_file_is_cut_and_extended) {
  const auto file = open(folder_.file("a", "hello"), kWrite);
  ASSERT_TRUE(runtime_->run((*file)->truncate(2)));
  EXPECT_EQ(read(**file, 0, 10), "he");
  ASSERT_TRUE(runtime_->run((*file)->truncate(4)));
  EXPECT_EQ(read(**file, 0, 10), std::string("he\0\0", 4));
}

TEST_F(FilesTest, renaming_replaces_and_removing_removes) {
  const std::string a = folder_.file("a", "new");
  const std::string b = folder_.file("b", "old");
  ASSERT_TRUE(runtime_->run(runtime_->rename(a, b)));
  ASSERT_TRUE(runtime_->run(runtime_->sync_directory(folder_.path())));
  EXPECT_EQ(read(**open(b, kRead), 0, 10), "new");
  EXPECT_EQ(open(a, kRead).error().code, Errc::kNotFound);
  ASSERT_TRUE(runtime_->run(runtime_->remove(b)));
  EXPECT_EQ(open(b, kRead).error().code, Errc::kNotFound);
}

TEST_F(FilesTest, failures_name_the_file_and_the_reason) {
  const std::string missing = folder_.path("none") + "/a";
  for (const Error& error :
       {open(missing, kCreate).error(), runtime_->run(runtime_->rename(missing, "b")).error(),
        runtime_->run(runtime_->remove(missing)).error(), runtime_->run(runtime_->sync_directory(missing)).error()}) {
    EXPECT_EQ(error.code, Errc::kNotFound);
    EXPECT_THAT(error.message, HasSubstr("'" + missing + "'"));
    EXPECT_THAT(error.message, HasSubstr("No such file or directory"));
  }
  const auto read_only = open(folder_.file("a", "x"), kRead);
  EXPECT_EQ(write(**read_only, 0, "y").error().code, Errc::kIo);
  EXPECT_FALSE(runtime_->run((*read_only)->truncate(0)));
}

TEST_F(FilesTest, what_is_no_file_is_named_and_never_waited_for) {
  ASSERT_EQ(::mkfifo(folder_.path("pipe").c_str(), 0600), 0);
  const int bound = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder_.path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(bound, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(bound);
  for (const auto& [path, kind] :
       {std::pair(folder_.path(), "a folder"), std::pair(folder_.path("pipe"), "a named pipe"),
        std::pair(folder_.path("socket"), "a socket")}) {
    for (const OpenOptions& options : {kRead, kWrite}) {
      const auto opened = open(path, options);
      ASSERT_FALSE(opened) << path;
      EXPECT_EQ(opened.error().code, Errc::kInvalid);
      EXPECT_THAT(opened.error().message, HasSubstr("'" + path + "': it is " + kind + ", not a file"));
    }
  }
}

TEST_F(FilesTest, links_and_devices_can_be_shut_out) {
  const std::string link = folder_.path("link");
  ASSERT_EQ(::symlink(folder_.file("a", "x").c_str(), link.c_str()), 0);
  EXPECT_EQ(read(**open(link, kRead), 0, 5), "x");
  const auto followed = open(link, {.write = true, .no_follow = true});
  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error().code, Errc::kInvalid);
  EXPECT_THAT(followed.error().message, HasSubstr("'" + link + "': it is a symbolic link"));
  EXPECT_THAT(open("/dev/null", {.write = true, .no_follow = true}).error().message, HasSubstr("it is a device"));
  EXPECT_TRUE(open(folder_.path("a"), {.write = true, .no_follow = true}));
}

TEST_F(FilesTest, a_new_file_has_the_mode_that_was_asked_for) {
  ASSERT_TRUE(open(folder_.path("a"), {.create = true, .write = true, .mode = 0600}));
  struct stat status {};
  ASSERT_EQ(::stat(folder_.path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(FilesTest, a_full_disk_is_told_apart) {
  const auto full = open("/dev/full", kWrite);
  ASSERT_TRUE(full);
  const Status written = write(**full, 0, "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kNoSpace);
  EXPECT_THAT(written.error().message, HasSubstr("'/dev/full'"));
}

TEST_F(FilesTest, what_nobody_waits_for_any_more_is_done_all_the_same) {
  auto file = open(folder_.path("a"), kCreate);
  { const auto dropped = (*file)->write_at(0, as_bytes("hello")); }
  file->reset();
  EXPECT_EQ(read(**open(folder_.path("a"), kRead), 0, 10), "hello");
}

}  // namespace
}  // namespace bellwether::runtime
