#include "sim/disk.h"

#include <gtest/gtest.h>
#include <set>

#include "sim/sim_testing.h"

namespace bellwether::sim {
namespace {

class DiskTest : public testing::Test {
 protected:
  explicit DiskTest(uint64_t seed = 1) : timeline_(seed), disk_(timeline_) {}
  std::shared_ptr<Inode> make(std::string_view path) { return *disk_.open(path, kMake); }
  // A file that survives, with this text.
  std::shared_ptr<Inode> make_safe(std::string_view path, std::string_view text) {
    auto inode = make(path);
    EXPECT_TRUE(disk_.write(*inode, 0, as_bytes(text)));
    EXPECT_TRUE(disk_.sync(*inode, disk_.last_change()));
    EXPECT_TRUE(disk_.sync_directory("/data", disk_.last_change()));
    return inode;
  }

  Timeline timeline_;
  Disk disk_;
};

// All that a file can hold after a loss of power, over many seeds.
template <class Prepare>
std::set<std::string> outcomes(std::string_view path, Prepare prepare) {
  std::set<std::string> all;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Timeline timeline(seed);
    Disk disk(timeline);
    prepare(disk);
    disk.lose_power();
    all.insert(disk.exists(path) ? disk.text_of(path) : "(none)");
  }
  return all;
}

TEST_F(DiskTest, what_is_written_is_read) {
  auto inode = make("/data/a");
  ASSERT_TRUE(disk_.write(*inode, 2, as_bytes("xy")));
  std::byte buffer[8];
  EXPECT_EQ(*disk_.read(*inode, 0, buffer), 4u);
  EXPECT_EQ(as_text(Bytes(buffer).first(4)), std::string_view("\0\0xy", 4));
  EXPECT_EQ(*disk_.read(*inode, 4, buffer), 0u);
}

TEST_F(DiskTest, opening_keeps_to_its_options) {
  EXPECT_EQ(disk_.open("/data/a", {}).error().code, Errc::kNotFound);
  make_safe("/data/a", "text");
  EXPECT_EQ(disk_.open("/data/a", {.create = true, .exclusive = true, .write = true}).error().code, Errc::kExists);
  EXPECT_EQ((*disk_.open("/data/a", kMake))->size(), 4u);
  EXPECT_EQ((*disk_.open("/data/a", {.truncate = true, .write = true}))->size(), 0u);
}

TEST_F(DiskTest, what_is_synced_survives) {
  make_safe("/data/a", "precious");
  disk_.lose_power();
  EXPECT_EQ(disk_.text_of("/data/a"), "precious");
}

TEST(DiskOutcomes, an_unsynced_write_survives_or_is_lost) {
  const auto all = outcomes("/data/a", [](Disk& disk) {
    auto inode = *disk.open("/data/a", kMake);
    ASSERT_TRUE(disk.sync_directory("/data", disk.last_change()));
    ASSERT_TRUE(disk.write(*inode, 0, as_bytes("x")));
  });
  EXPECT_EQ(all, (std::set<std::string>{"", "x"}));
}

TEST(DiskOutcomes, a_write_over_several_sectors_is_torn_at_their_edges) {
  const std::string old(1024, 'o');
  const std::string fresh(1024, 'n');
  const auto all = outcomes("/data/a", [&](Disk& disk) {
    auto inode = *disk.open("/data/a", kMake);
    ASSERT_TRUE(disk.write(*inode, 0, as_bytes(old)));
    ASSERT_TRUE(disk.sync(*inode, disk.last_change()));
    ASSERT_TRUE(disk.sync_directory("/data", disk.last_change()));
    ASSERT_TRUE(disk.write(*inode, 0, as_bytes(fresh)));
  });
  const std::string o(512, 'o');
  const std::string n(512, 'n');
  EXPECT_EQ(all, (std::set<std::string>{o + o, o + n, n + o, n + n}));
}

TEST(DiskOutcomes, a_later_write_may_survive_an_earlier_one) {
  const auto all = outcomes("/data/a", [&](Disk& disk) {
    auto inode = *disk.open("/data/a", kMake);
    ASSERT_TRUE(disk.sync_directory("/data", disk.last_change()));
    ASSERT_TRUE(disk.write(*inode, 0, as_bytes("1")));
    ASSERT_TRUE(disk.write(*inode, 1, as_bytes("2")));
  });
  EXPECT_EQ(all, (std::set<std::string>{"", "1", "12", std::string("\0002", 2)}));
}

TEST(DiskOutcomes, a_sync_covers_what_was_written_before_it_began) {
  const auto all = outcomes("/data/a", [&](Disk& disk) {
    auto inode = *disk.open("/data/a", kMake);
    ASSERT_TRUE(disk.sync_directory("/data", disk.last_change()));
    ASSERT_TRUE(disk.write(*inode, 0, as_bytes("1")));
    const uint64_t began = disk.last_change();
    ASSERT_TRUE(disk.write(*inode, 1, as_bytes("2")));
    ASSERT_TRUE(disk.sync(*inode, began));
  });
  EXPECT_EQ(all, (std::set<std::string>{"1", "12"}));
}

TEST(DiskOutcomes, after_a_failed_sync_a_successful_one_means_nothing) {
  const auto all = outcomes("/data/a", [&](Disk& disk) {
    auto inode = *disk.open("/data/a", kMake);
    ASSERT_TRUE(disk.sync_directory("/data", disk.last_change()));
    ASSERT_TRUE(disk.write(*inode, 0, as_bytes("x")));
    disk.settings().sync_error = 1;
    ASSERT_FALSE(disk.sync(*inode, disk.last_change()));
    disk.settings().sync_error = 0;
    ASSERT_TRUE(disk.sync(*inode, disk.last_change()));
    ASSERT_EQ(disk.text_of("/data/a"), "x");
  });
  EXPECT_EQ(all, (std::set<std::string>{"", "x"}));
}

TEST(DiskOutcomes, a_name_is_safe_only_with_its_folder) {
  const auto make = [](Disk& disk) {
    auto inode = *disk.open("/data/a", kMake);
    ASSERT_TRUE(disk.write(*inode, 0, as_bytes("x")));
    ASSERT_TRUE(disk.sync(*inode, disk.last_change()));
  };
  EXPECT_EQ(outcomes("/data/a", make), (std::set<std::string>{"(none)", "x"}));
  EXPECT_EQ(outcomes("/data/a",
                     [&](Disk& disk) {
                       make(disk);
                       ASSERT_TRUE(disk.sync_directory("/other", disk.last_change()));
                     }),
            (std::set<std::string>{"(none)", "x"}));
  EXPECT_EQ(outcomes("/data/a",
                     [&](Disk& disk) {
                       make(disk);
                       ASSERT_TRUE(disk.sync_directory("/data/", disk.last_change()));
                     }),
            (std::set<std::string>{"x"}));
}

TEST(DiskOutcomes, a_rename_happens_or_does_not) {
  const auto replace = [](Disk& disk) {
    for (const auto& [path, text] : {std::pair("/data/a", "old"), std::pair("/data/b", "new")}) {
      auto inode = *disk.open(path, kMake);
      ASSERT_TRUE(disk.write(*inode, 0, as_bytes(text)));
      ASSERT_TRUE(disk.sync(*inode, disk.last_change()));
    }
    ASSERT_TRUE(disk.sync_directory("/data", disk.last_change()));
    ASSERT_TRUE(disk.rename("/data/b", "/data/a"));
    ASSERT_FALSE(disk.exists("/data/b"));
  };
  EXPECT_EQ(outcomes("/data/a", replace), (std::set<std::string>{"old", "new"}));
  EXPECT_EQ(outcomes("/data/a",
                     [&](Disk& disk) {
                       replace(disk);
                       ASSERT_TRUE(disk.sync_directory("/data", disk.last_change()));
                     }),
            (std::set<std::string>{"new"}));
}

TEST_F(DiskTest, a_removed_file_is_gone_and_stays_readable_for_who_has_it_open) {
  auto inode = make_safe("/data/a", "text");
  ASSERT_TRUE(disk_.remove("/data/a"));
  EXPECT_FALSE(disk_.exists("/data/a"));
  EXPECT_EQ(inode->size(), 4u);
  EXPECT_EQ(disk_.remove("/data/a").error().code, Errc::kNotFound);
  EXPECT_EQ(disk_.rename("/data/a", "/data/b").error().code, Errc::kNotFound);
}

TEST_F(DiskTest, a_full_disk_takes_no_more_and_still_overwrites) {
  disk_.settings().capacity = 10;
  auto inode = make("/data/a");
  ASSERT_TRUE(disk_.write(*inode, 0, as_bytes("12345678")));
  EXPECT_EQ(disk_.write(*inode, 8, as_bytes("abc")).error().code, Errc::kNoSpace);
  EXPECT_LE(inode->size(), 10u);
  EXPECT_TRUE(disk_.write(*inode, 0, as_bytes("87654321")));
}

TEST_F(DiskTest, broken_disks_say_so) {
  auto inode = make_safe("/data/a", "text");
  std::byte buffer[4];
  disk_.settings().open_error = disk_.settings().read_error = disk_.settings().write_error = 1;
  EXPECT_EQ(disk_.open("/data/a", {}).error().code, Errc::kIo);
  EXPECT_EQ(disk_.read(*inode, 0, buffer).error().code, Errc::kIo);
  EXPECT_EQ(disk_.write(*inode, 0, as_bytes("more")).error().code, Errc::kIo);
  EXPECT_EQ(disk_.truncate(*inode, 0).error().code, Errc::kIo);
}

}  // namespace
}  // namespace bellwether::sim
