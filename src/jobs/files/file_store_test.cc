#include "jobs/files/file_store.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "sim/machine_testing.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;

FileRef ref_of(const std::string& bytes) { return {sha256_hex(bytes), bytes.size()}; }

class FileStoreTest : public sim::MachineTest {
 protected:
  FileStoreSettings settings(uint64_t bytes_most = kMiB) { return {.folder = "/data/files", .bytes_most = bytes_most}; }
  Result<uint64_t> append(FileStore& store, const FileRef& file, uint64_t offset, const std::string& bytes) {
    return machine_.run(store.append(file, offset, bytes));
  }
  std::string read(FileStore& store, const FileRef& file, uint64_t offset = 0) {
    const auto bytes = machine_.run(store.read(file, offset, kMiB));
    return bytes ? *bytes : bytes.error().message;
  }
  void pass(Duration span) {
    for (Duration passed; passed < span; passed += Duration::minutes(1)) {
      machine_.run(sleeping(&runtime_, std::min(span - passed, Duration::minutes(1))));
    }
  }
  static runtime::task<void> sleeping(runtime::Runtime* runtime, Duration span) { co_await runtime->sleep(span); }
  std::vector<std::string> names() {
    const auto found = machine_.run(runtime_.list_directory("/data/files"));
    return found ? *found : std::vector<std::string>();
  }
};

TEST_F(FileStoreTest, bytes_in_order_become_a_file_with_the_name_of_its_hash) {
  FileStore store(runtime_, settings());
  const std::string text = "name\nann\nbob\n";
  const FileRef file = ref_of(text);
  EXPECT_EQ(*append(store, file, 0, "name\n"), 5u);
  EXPECT_FALSE(store.is_whole(file));
  EXPECT_EQ(names(), std::vector{file.sha256 + ".part"});
  EXPECT_EQ(*append(store, file, 9, "bob\n"), 5u) << "it says what is due";
  EXPECT_EQ(*append(store, file, 0, "name\n"), 5u) << "what comes twice counts once";
  EXPECT_EQ(read(store, file, 2), "me\n") << "others may follow";
  EXPECT_EQ(*append(store, file, 5, "ann\nbob\n"), text.size());
  EXPECT_TRUE(store.is_whole(file));
  EXPECT_EQ(names(), std::vector{file.sha256});
  EXPECT_EQ(read(store, file), text);
  EXPECT_EQ(*append(store, file, 0, "x"), text.size()) << "it stays as it is";
  EXPECT_EQ(store.received(), text.size());
}

TEST_F(FileStoreTest, bytes_that_do_not_have_the_hash_are_removed) {
  FileStore store(runtime_, settings());
  const FileRef file = ref_of("right");
  const auto wrong = append(store, file, 0, "wrong");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::kProtocol);
  EXPECT_EQ(store.have(file), 0u);
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(*append(store, file, 0, "right"), 5u);
  EXPECT_FALSE(append(store, {file.sha256, 6}, 0, "right!")) << "a file has one size";
  EXPECT_FALSE(append(store, {"../../etc/passwd", 5}, 0, "right"));
}

TEST_F(FileStoreTest, the_least_recently_used_file_makes_room_unless_it_is_in_use) {
  FileStore store(runtime_, settings(10));
  const std::string a = "aaaa";
  const std::string b = "bbbb";
  const std::string c = "cccc";
  ASSERT_TRUE(append(store, ref_of(a), 0, a) && append(store, ref_of(b), 0, b));
  const auto full = append(store, ref_of(c), 0, c);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::kNoSpace);
  EXPECT_THAT(full.error().message, HasSubstr("has 4 B, and this node keeps at most 10 B of data files, of which 8 B "
                                              "are in use; end jobs"));
  pass(Duration::minutes(3));
  EXPECT_TRUE(store.is_whole(ref_of(a)));  // a use
  pass(Duration::seconds(1));
  ASSERT_TRUE(append(store, ref_of(c), 0, c));
  EXPECT_TRUE(store.is_whole(ref_of(a)));
  EXPECT_FALSE(store.is_whole(ref_of(b)));
  EXPECT_EQ(store.bytes(), 8u);
  EXPECT_EQ(names().size(), 2u);
  EXPECT_FALSE(append(store, ref_of(std::string(11, 'x')), 0, "x")) << "nothing makes room enough";
  pass(Duration::minutes(3));
  EXPECT_TRUE(store.is_whole(ref_of(c)));  // a use
  EXPECT_FALSE(append(store, ref_of(std::string(9, 'x')), 0, "x"));
  EXPECT_EQ(store.bytes(), 8u) << "and nothing goes for what finds no room";
}

TEST_F(FileStoreTest, a_new_life_finds_whole_files_and_removes_the_others) {
  const std::string a = "aaaa";
  {
    FileStore store(runtime_, settings());
    ASSERT_TRUE(append(store, ref_of(a), 0, a) && append(store, ref_of("bbbb"), 0, "bb"));
  }
  FileStore store(runtime_, settings());
  ASSERT_TRUE(machine_.run(store.open()));
  EXPECT_TRUE(store.is_whole(ref_of(a)));
  EXPECT_EQ(read(store, ref_of(a)), a);
  EXPECT_EQ(store.have(ref_of("bbbb")), 0u);
  EXPECT_EQ(store.bytes(), 4u);
  EXPECT_EQ(names(), std::vector{sha256_hex(a)});
}

TEST_F(FileStoreTest, a_new_life_with_less_room_removes_what_is_too_much) {
  {
    FileStore store(runtime_, settings());
    ASSERT_TRUE(append(store, ref_of("aaaa"), 0, "aaaa") && append(store, ref_of("bbbb"), 0, "bbbb"));
  }
  FileStore store(runtime_, settings(5));
  ASSERT_TRUE(machine_.run(store.open()));
  EXPECT_EQ(store.bytes(), 4u);
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(FileStoreTest, a_file_that_nobody_uses_goes) {
  FileStore store(runtime_, settings());
  ASSERT_TRUE(append(store, ref_of("aaaa"), 0, "aaaa"));
  pass(Duration::minutes(59));
  machine_.run(store.sweep());
  EXPECT_EQ(names().size(), 1u);
  pass(Duration::minutes(2));
  machine_.run(store.sweep());
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(store.bytes(), 0u);
}

TEST_F(FileStoreTest, without_a_folder_it_keeps_nothing) {
  FileStore store(runtime_, {});
  ASSERT_TRUE(machine_.run(store.open()));
  const auto refused = append(store, ref_of("aaaa"), 0, "aaaa");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("set 'data'"));
  EXPECT_THAT(read(store, ref_of("aaaa")), HasSubstr("does not have"));
}

}  // namespace
}  // namespace bellwether::node
