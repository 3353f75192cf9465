#include "cluster/wire/keyring.h"

#include <gmock/gmock.h>

#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

using testing::HasSubstr;

std::string refused(std::string text) {
  auto made = Secret::take(std::move(text));
  return made ? "" : made.error().message;
}

TEST(Secret, a_short_one_is_refused_with_the_remedy_and_without_the_secret) {
  const std::string message = refused("Xy7#qpLmZ0w!2nB");
  EXPECT_THAT(message, HasSubstr("shorter than 16 characters"));
  EXPECT_THAT(message, HasSubstr("openssl rand"));
  EXPECT_THAT(message, testing::Not(HasSubstr("Xy7")));
  EXPECT_EQ(refused("Xy7#qpLmZ0w!2nBk"), "");
}

TEST(Secret, weak_ones_are_refused) {
  EXPECT_THAT(refused("aaaaaaaaaaaaaaaaaaaaaaaa"), HasSubstr("too few different"));
  EXPECT_THAT(refused("a1b2c3d4a1b2c3d4a1b2c3d4"), HasSubstr("repeats a short piece"));
  EXPECT_THAT(refused("abcdefghijklmnopqrstuvwxyz"), HasSubstr("follows the alphabet"));
  EXPECT_THAT(refused("98765432109876543210x"), HasSubstr("counts"));
  EXPECT_THAT(refused("Password-Changeme-2026"), HasSubstr("well-known words"));
  EXPECT_THAT(refused("bellwether-secret-key!"), HasSubstr("well-known words"));
  EXPECT_THAT(refused(std::string(kMaxSecret + 1, 'x')), HasSubstr("longer than 1024"));
}

TEST(Secret, ordinary_good_ones_are_taken) {
  EXPECT_EQ(refused("correct horse battery staple"), "");
  EXPECT_EQ(refused("mZ3tq0x1sWv8Rj5y/0aB6uQd"), "");
  EXPECT_EQ(refused("8402948204829471"), "");
}

TEST(Secret, the_text_that_it_was_made_of_is_wiped) {
  std::string text = "correct horse battery staple";
  const char* where = text.data();
  const auto made = Secret::take(std::move(text));
  ASSERT_TRUE(made);
  EXPECT_EQ(where[1], '\0');
  EXPECT_EQ(as_text(made->bytes()), "correct horse battery staple");
}

class KeyringTest : public testing::Test {
 protected:
  Keyring ring_ = keyring_of("the first secret, 1a");
  KeyId first_ = ring_.in_use();
};

TEST_F(KeyringTest, the_same_secret_has_the_same_name_everywhere) {
  EXPECT_EQ(keyring_of("the first secret, 1a").in_use(), first_);
  EXPECT_NE(keyring_of("the second secret, 2b").in_use(), first_);
  EXPECT_EQ(key_name(0x00ab12cd), "00ab12cd");
}

TEST_F(KeyringTest, a_secret_is_learnt_used_and_the_old_one_forgotten) {
  const auto second = ring_.learn(secret_of("the second secret, 2b"));
  ASSERT_TRUE(second);
  EXPECT_EQ(ring_.in_use(), first_) << "learning alone changes nothing about what is sent";
  ASSERT_TRUE(ring_.use(*second));
  EXPECT_THAT(ring_.ids(), testing::ElementsAre(*second, first_));
  ASSERT_TRUE(ring_.forget(first_));
  EXPECT_FALSE(ring_.knows(first_));
  EXPECT_FALSE(ring_.derive(first_, {}, {}).has_value());
  EXPECT_TRUE(ring_.derive(*second, {}, {}).has_value());
}

TEST_F(KeyringTest, the_secret_in_use_is_not_forgotten) {
  const auto forgotten = ring_.forget(first_);
  ASSERT_FALSE(forgotten);
  EXPECT_EQ(forgotten.error().code, Errc::kInvalid);
  EXPECT_EQ(ring_.forget(1).error().code, Errc::kNotFound);
  EXPECT_EQ(ring_.use(1).error().code, Errc::kNotFound);
}

TEST_F(KeyringTest, learning_again_changes_nothing_and_there_is_an_end_to_it) {
  EXPECT_EQ(ring_.learn(secret_of("the first secret, 1a")).value(), first_);
  ASSERT_TRUE(ring_.learn(secret_of("the second secret, 2b")));
  ASSERT_TRUE(ring_.learn(secret_of("the third secret, 3c")));
  ASSERT_TRUE(ring_.learn(secret_of("the fourth secret, 4d")));
  EXPECT_EQ(ring_.learn(secret_of("the fifth secret, 5e")).error().code, Errc::kExhausted);
}

}  // namespace
}  // namespace bellwether::wire
