// Looks at the memory itself, at the moment in which it is given back.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <malloc.h>
#include <new>
#include <optional>
#include <ostream>
#include <string_view>
#include <type_traits>

#include "core/secret/commitment.h"
#include "core/secret/key_codec.h"
#include "core/secret/secret_testing.h"
#include "core/secret/sharing.h"

namespace {

const std::byte* watched = nullptr;
std::size_t watched_size = 0;
enum class Found { kNothing, kZeros, kSecret } found = Found::kNothing;
constexpr std::string_view kText = "what nobody may find in memory";
bool hunts = false;  // for the text, in all memory that is freed
int spilled = 0;

void give_back(void* memory) noexcept {
  if (memory != nullptr && memory == watched) {
    const bool zeros =
        std::all_of(watched, watched + watched_size, [](std::byte byte) { return byte == std::byte{0}; });
    found = zeros ? Found::kZeros : Found::kSecret;
    watched = nullptr;
  }
  if (hunts && memory != nullptr) {
    const std::string_view all(static_cast<const char*>(memory), malloc_usable_size(memory));
    if (all.find(kText) != std::string_view::npos) ++spilled;
  }
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }

namespace bellwether::secret {
namespace {

SecretBytes watch(SecretBytes bytes) {
  watched = bytes.bytes().data();
  watched_size = bytes.size();
  found = Found::kNothing;
  return bytes;
}

TEST(SecretBytes, memory_is_wiped_before_it_is_given_back) {
  {
    const SecretBytes secret = watch(SecretBytes::copy_of(as_bytes(kText)));
    ASSERT_EQ(as_text(secret.bytes()), kText);
    ASSERT_EQ(found, Found::kNothing);
  }
  EXPECT_EQ(found, Found::kZeros);
}

TEST(SecretBytes, the_test_sees_memory_that_is_not_wiped) {
  auto plain = std::make_unique<std::byte[]>(kText.size());
  std::copy_n(as_bytes(kText).begin(), kText.size(), plain.get());
  watched = plain.get();
  watched_size = kText.size();
  plain.reset();
  EXPECT_EQ(found, Found::kSecret);
}

TEST(SecretBytes, moving_leaves_nothing_behind_and_makes_no_copy) {
  SecretBytes from = watch(SecretBytes::copy_of(as_bytes(kText)));
  const std::byte* memory = from.bytes().data();
  std::optional<SecretBytes> to(std::move(from));
  EXPECT_TRUE(from.empty());                // NOLINT(bugprone-use-after-move): it is what is tested
  EXPECT_EQ(from.bytes().data(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(to->bytes().data(), memory);
  EXPECT_EQ(found, Found::kNothing);
  to.reset();
  EXPECT_EQ(found, Found::kZeros);
}

TEST(SecretBytes, what_is_assigned_to_is_wiped_at_once) {
  SecretBytes to = watch(SecretBytes::copy_of(as_bytes(kText)));
  SecretBytes from = SecretBytes::copy_of(as_bytes("another"));
  to = std::move(from);
  EXPECT_EQ(found, Found::kZeros);
  EXPECT_EQ(as_text(to.bytes()), "another");
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
}

TEST(SecretBytes, a_key_share_is_wiped_with_what_holds_it) {
  {
    std::vector<KeyShare> shares;
    shares.push_back({SecretId(1), {}, 1, watch(SecretBytes::copy_of(as_bytes(kText)))});
    for (uint8_t i = 2; i < 100; ++i) shares.push_back({SecretId(1), {}, i, SecretBytes(1)});
    EXPECT_EQ(found, Found::kNothing) << "a vector that grows moves them";
  }
  EXPECT_EQ(found, Found::kZeros);
}

// With threshold 1 each key share holds the text, so that any of them would be seen.
TEST(SecretBytes, a_secret_leaves_no_trace_in_memory_from_its_splitting_to_its_end) {
  hunts = true;
  spilled = 0;
  {
    const Splitting splitting = split_text(kText, {1, 3});
    Collector collector(splitting.commitment);
    for (const KeyShare& share : splitting.shares) {
      auto decoded = decode_key_share(encode(share).bytes());
      static_cast<void>(collector.take(share.index, std::move(*decoded)));
    }
    const auto secret = collector.give();
    ASSERT_TRUE(secret.has_value());
    EXPECT_EQ(as_text(secret->bytes()), kText);
  }
  EXPECT_EQ(spilled, 0);
  auto spilling = std::make_unique<std::string>(kText);
  spilling.reset();
  hunts = false;
  EXPECT_EQ(spilled, 1) << "the measure itself";
}

template <class T>
concept Printable = requires(std::ostream& stream, const T& value) { stream << value; };

TEST(SecretBytes, nothing_copies_or_prints_them) {
  static_assert(!std::is_copy_constructible_v<SecretBytes> && !std::is_copy_assignable_v<SecretBytes>);
  static_assert(!std::is_copy_constructible_v<KeyShare> && !std::is_copy_assignable_v<KeyShare>);
  static_assert(std::is_nothrow_move_constructible_v<KeyShare> && std::is_nothrow_move_assignable_v<KeyShare>);
  static_assert(!std::is_convertible_v<Bytes, SecretBytes> && !std::is_convertible_v<SecretBytes, Bytes>);
  static_assert(!Printable<SecretBytes> && !Printable<KeyShare>);
  static_assert(Printable<int>, "the measure itself");
}

}  // namespace
}  // namespace bellwether::secret
