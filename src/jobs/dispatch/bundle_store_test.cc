#include <gtest/gtest.h>

#include "jobs/dispatch/worker_stock.h"

namespace bellwether::dispatch {
namespace {

constexpr std::size_t kBytes = 100'000;
// Room for three.
constexpr std::size_t kRoom = 3 * (kBytes + BundleStore::kOverhead);

std::string bundle(char of) { return std::string(kBytes, of); }

TEST(BundleStore, gives_what_was_put_there) {
  BundleStore store(kRoom);
  ASSERT_TRUE(store.put("a", bundle('a')));
  ASSERT_NE(store.find("a"), nullptr);
  EXPECT_EQ(*store.find("a"), bundle('a'));
  EXPECT_EQ(store.find("b"), nullptr);
}

TEST(BundleStore, what_was_not_used_for_the_longest_makes_room) {
  BundleStore store(kRoom);
  for (const char* hash : {"a", "b", "c"}) ASSERT_TRUE(store.put(hash, bundle(*hash)));
  ASSERT_NE(store.find("a"), nullptr);
  ASSERT_TRUE(store.put("d", bundle('d')));
  EXPECT_NE(store.find("a"), nullptr);
  EXPECT_EQ(store.find("b"), nullptr);
  EXPECT_NE(store.find("c"), nullptr);
  EXPECT_NE(store.find("d"), nullptr);
}

TEST(BundleStore, what_is_in_use_stays) {
  BundleStore store(kRoom);
  for (const char* hash : {"a", "b", "c"}) ASSERT_TRUE(store.put(hash, bundle(*hash)));
  auto a = store.find("a");
  const auto b = store.find("b");
  const auto c = store.find("c");
  const Status full = store.put("d", bundle('d'));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::kExhausted);
  a.reset();
  EXPECT_TRUE(store.put("d", bundle('d')));
  EXPECT_EQ(store.find("a"), nullptr);
}

TEST(BundleStore, one_that_is_there_already_takes_no_more_room) {
  BundleStore store(kRoom);
  ASSERT_TRUE(store.put("a", bundle('a')));
  const std::size_t before = store.bytes();
  ASSERT_TRUE(store.put("a", bundle('a')));
  EXPECT_EQ(store.bytes(), before);
}

TEST(BundleStore, what_never_fits_is_too_large) {
  BundleStore store(kRoom);
  const Status large = store.put("a", std::string(kRoom, 'a'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Errc::kTooLarge);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(BundleStore, bundles_of_no_bytes_are_not_without_number) {
  BundleStore store(10 * BundleStore::kOverhead);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store.put(std::to_string(i), ""));
  EXPECT_LE(store.bytes(), 10 * BundleStore::kOverhead);
  EXPECT_EQ(store.find("0"), nullptr);
}

}  // namespace
}  // namespace bellwether::dispatch
