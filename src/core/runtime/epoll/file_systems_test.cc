#include <gmock/gmock.h>

#include "core/runtime/epoll/machine_texts.h"
#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {
namespace {

TEST(FileSystems, those_of_other_machines_are_named) {
  EXPECT_EQ(network_kind(0x6969, ""), "nfs");
  EXPECT_EQ(network_kind(0xff534d42, ""), "cifs");
  EXPECT_EQ(network_kind(0x01021997, ""), "9p");
  EXPECT_EQ(network_kind(0x0bd00bd0, ""), "lustre");
}

TEST(FileSystems, local_ones_are_not) {
  for (const uint64_t magic : {0xef53U, 0x58465342U, 0x9123683eU, 0x01021994U, 0x794c7630U}) {
    EXPECT_EQ(network_kind(magic, ""), "") << std::hex << magic;
    EXPECT_FALSE(needs_mounted_type(magic));
  }
}

TEST(FileSystems, a_program_behind_fuse_is_not_trusted) {
  constexpr uint64_t kFuse = 0x65735546;
  EXPECT_TRUE(needs_mounted_type(kFuse));
  EXPECT_EQ(network_kind(kFuse, "fuse.sshfs"), "fuse.sshfs");
  EXPECT_EQ(network_kind(kFuse, "virtiofs"), "virtiofs");
  EXPECT_EQ(network_kind(kFuse, ""), "fuse");
  EXPECT_EQ(network_kind(kFuse, "fuseblk"), "");
}

TEST(FileSystems, the_list_of_mounts_tells_the_type) {
  constexpr std::string_view kMounts =
      "21 26 0:19 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
      "98 26 0:51 / /home/a\\040b/far rw,nosuid,nodev,relatime shared:55 master:2 - fuse.sshfs host:/a rw,user_id=0\n"
      "99 26 8:1 / /boot rw - ext4 /dev/sda1 rw";
  EXPECT_EQ(mounted_type(kMounts, 0, 51), "fuse.sshfs");
  EXPECT_EQ(mounted_type(kMounts, 0, 5), "");
  EXPECT_EQ(mounted_type(kMounts, 8, 1), "ext4");
  EXPECT_EQ(mounted_type("", 8, 1), "");
  EXPECT_EQ(mounted_type("garbage\n\n99 26 8:1", 8, 1), "");
}

TEST(FileSystems, a_path_is_asked_for) {
  const auto runtime = test_runtime();
  const auto proc = runtime->run(runtime->network_file_system("/proc"));
  ASSERT_TRUE(proc);
  EXPECT_EQ(*proc, "");
  const auto missing = runtime->run(runtime->network_file_system("/none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace bellwether::runtime
