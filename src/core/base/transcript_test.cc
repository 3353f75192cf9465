#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <optional>

#include "core/base/fields_testing.h"
#include "core/base/transcript_testing.h"

namespace bellwether {
namespace told {

enum class How : uint8_t { kAtOnce, kGraceful };
struct Stop {
  uint32_t share = 0;
  How how = How::kAtOnce;
  std::string why;
  std::optional<Duration> within;
  bool hard = false;
};
struct GoOn {};

}  // namespace told
namespace {

// Prints its input as it has understood it.
struct Echo {
  transcript::Lines say(const std::string& line) {
    const transcript::Lines words = transcript::words_of(line);
    std::variant<told::GoOn, told::Stop> what;
    const bool known = fields::choose(what, words[0], [&](auto& made) {
      fields::set_all(made, {words.begin() + 1, words.end()}, "share");
    });
    return {known ? fields::words(what) : "what?"};
  }
};

const std::string kStories = R"(# What is said comes back.

== a stop
stop 7 graceful within=1m30s why="so it is"  -> stop 7 how=graceful why="so it is" within=1m30s
stop 8 hard  -> stop 8 hard

== something else
go_on  -> go_on
dance  -> what?
)";

TEST(Transcript, a_story_that_goes_as_it_is_told_stays_as_it_is) {
  EXPECT_EQ(transcript::retold<Echo>(kStories), kStories);
}

TEST(Transcript, each_story_that_goes_otherwise_is_shown_with_its_line) {
  std::string told = kStories;
  told.replace(told.find("stop 8 hard\n"), 11, "stop 9 hard");
  told.replace(told.find("what?"), 5, "dance");
  EXPECT_EQ(transcript::difference(told, transcript::retold<Echo>(told)),
            "line 5:\n"
            "   \n"
            "   == a stop\n"
            "   stop 7 graceful within=1m30s why=\"so it is\"  -> stop 7 how=graceful why=\"so it is\" within=1m30s\n"
            " - stop 8 hard  -> stop 9 hard\n"
            " + stop 8 hard  -> stop 8 hard\n"
            "line 9:\n"
            "   \n"
            "   == something else\n"
            "   go_on  -> go_on\n"
            " - dance  -> dance\n"
            " + dance  -> what?\n");
}

TEST(Transcript, a_file_without_a_story_is_a_failure) {
  EXPECT_NONFATAL_FAILURE(transcript::expect_stories<Echo>("no/such/file.txt"), "there is no story");
}

}  // namespace
}  // namespace bellwether
