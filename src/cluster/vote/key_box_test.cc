#include <gtest/gtest.h>

#include "cluster/vote/key_recovery.h"

namespace bellwether::cluster {
namespace {

TEST(KeyBox, opens_what_was_sealed_to_its_key_in_the_same_context) {
  const auto sender = BoxKey::draw();
  const auto receiver = BoxKey::draw();
  ASSERT_TRUE(sender && receiver);
  const auto sealed = sender->seal(receiver->public_key(), "flock\nterm 5", as_bytes("a key share"));
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed->find("a key share"), std::string::npos);
  const auto opened = receiver->open(sender->public_key(), "flock\nterm 5", *sealed);
  ASSERT_TRUE(opened);
  EXPECT_EQ(as_text(opened->bytes()), "a key share");
  EXPECT_FALSE(receiver->open(sender->public_key(), "flock\nterm 6", *sealed));
  EXPECT_FALSE(receiver->open(receiver->public_key(), "flock\nterm 5", *sealed));
  EXPECT_FALSE(sender->open(sender->public_key(), "flock\nterm 5", *sealed)) << "not even by the sender again";
  EXPECT_FALSE(receiver->open(sender->public_key(), "flock\nterm 5", sealed->substr(1)));
  EXPECT_FALSE(receiver->open(sender->public_key(), "flock\nterm 5", "short"));
}

TEST(KeyBox, nothing_is_sealed_to_what_is_no_key) {
  const auto sender = BoxKey::draw();
  ASSERT_TRUE(sender);
  EXPECT_EQ(sender->seal(BoxPublicKey{}, "c", as_bytes("x")).error().code, Errc::kRefused);
  EXPECT_NE(sender->public_key(), BoxKey::draw()->public_key());
}

}  // namespace
}  // namespace bellwether::cluster
