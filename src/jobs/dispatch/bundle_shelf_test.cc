#include <gtest/gtest.h>

#include "jobs/dispatch/worker_stock.h"

namespace bellwether::dispatch {
namespace {

constexpr std::size_t kBytes = 100'000;
// Room for three.
constexpr std::size_t kRoom = 3 * (kBytes + BundleShelf::kOverhead);

std::string bundle(char of) { return std::string(kBytes, of); }

TEST(BundleShelf, gives_what_was_put_there) {
  BundleShelf shelf(kRoom);
  ASSERT_TRUE(shelf.put("a", bundle('a')));
  ASSERT_NE(shelf.find("a"), nullptr);
  EXPECT_EQ(*shelf.find("a"), bundle('a'));
  EXPECT_EQ(shelf.find("b"), nullptr);
}

TEST(BundleShelf, what_was_not_used_for_the_longest_makes_room) {
  BundleShelf shelf(kRoom);
  for (const char* hash : {"a", "b", "c"}) ASSERT_TRUE(shelf.put(hash, bundle(*hash)));
  ASSERT_NE(shelf.find("a"), nullptr);
  ASSERT_TRUE(shelf.put("d", bundle('d')));
  EXPECT_NE(shelf.find("a"), nullptr);
  EXPECT_EQ(shelf.find("b"), nullptr);
  EXPECT_NE(shelf.find("c"), nullptr);
  EXPECT_NE(shelf.find("d"), nullptr);
}

TEST(BundleShelf, what_is_in_use_stays) {
  BundleShelf shelf(kRoom);
  for (const char* hash : {"a", "b", "c"}) ASSERT_TRUE(shelf.put(hash, bundle(*hash)));
  auto a = shelf.find("a");
  const auto b = shelf.find("b");
  const auto c = shelf.find("c");
  const Status full = shelf.put("d", bundle('d'));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::kExhausted);
  a.reset();
  EXPECT_TRUE(shelf.put("d", bundle('d')));
  EXPECT_EQ(shelf.find("a"), nullptr);
}

TEST(BundleShelf, one_that_is_there_already_takes_no_more_room) {
  BundleShelf shelf(kRoom);
  ASSERT_TRUE(shelf.put("a", bundle('a')));
  const std::size_t before = shelf.bytes();
  ASSERT_TRUE(shelf.put("a", bundle('a')));
  EXPECT_EQ(shelf.bytes(), before);
}

TEST(BundleShelf, what_never_fits_is_too_large) {
  BundleShelf shelf(kRoom);
  const Status large = shelf.put("a", std::string(kRoom, 'a'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Errc::kTooLarge);
  EXPECT_EQ(shelf.bytes(), 0u);
}

TEST(BundleShelf, bundles_of_no_bytes_are_not_without_number) {
  BundleShelf shelf(10 * BundleShelf::kOverhead);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(shelf.put(std::to_string(i), ""));
  EXPECT_LE(shelf.bytes(), 10 * BundleShelf::kOverhead);
  EXPECT_EQ(shelf.find("0"), nullptr);
}

}  // namespace
}  // namespace bellwether::dispatch
