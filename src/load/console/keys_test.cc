#include <gtest/gtest.h>

#include "load/console/steering.h"

namespace bellwether::console {
namespace {

using Keys = std::vector<Key>;

TEST(KeyReader, knows_letters_and_arrows_of_both_kinds) {
  KeyReader reader;
  EXPECT_EQ(reader.read("q?n"), (Keys{Key::kQuit, Key::kHelp, Key::kNext}));
  EXPECT_EQ(reader.read("\x1b[C\x1b[D\x1bOA\x1bOB"), (Keys{Key::kNext, Key::kPrevious, Key::kUp, Key::kDown}));
}

TEST(KeyReader, takes_a_sequence_that_comes_in_pieces_for_one) {
  KeyReader reader;
  EXPECT_EQ(reader.read("\x1b"), Keys{});
  EXPECT_EQ(reader.read("["), Keys{});
  EXPECT_EQ(reader.read("1;2"), Keys{});
  EXPECT_EQ(reader.read("C"), Keys{Key::kNext});
}

TEST(KeyReader, takes_an_escape_that_stands_alone_for_that_key) {
  KeyReader reader;
  EXPECT_EQ(reader.read("\x1b"), Keys{});
  EXPECT_EQ(reader.rest(), Keys{Key::kEscape});
  EXPECT_EQ(reader.rest(), Keys{});
  EXPECT_EQ(reader.read("\x1b\x1b[A"), (Keys{Key::kEscape, Key::kUp}));
}

TEST(KeyReader, leaves_out_what_it_does_not_know) {
  KeyReader reader;
  // A function key, a letter with Alt, letters of the alphabet, UTF-8.
  EXPECT_EQ(reader.read("\x1b[15~\x1bq\x1bOPxzü"), Keys{});
  EXPECT_EQ(reader.read("y"), Keys{Key::kYes});
}

}  // namespace
}  // namespace bellwether::console
