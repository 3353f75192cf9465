#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "core/base/encoding.h"
#include "jobs/dispatch/assignment.h"
#include "jobs/dispatch/codec/parts.h"
#include "jobs/dispatch/job_record.h"

namespace bellwether::dispatch {
namespace {

TEST(FitText, what_fits_stays_as_it_is) {
  EXPECT_EQ(fit_text(""), "");
  EXPECT_EQ(fit_text("J\xc3\xbcrgen's run"), "J\xc3\xbcrgen's run");
  const std::string full(kMaxTextBytes, 'x');
  EXPECT_EQ(fit_text(full), full);
}

TEST(FitText, what_is_too_long_is_cut_between_two_letters) {
  EXPECT_EQ(fit_text(std::string(10'000, 'x')), std::string(kMaxTextBytes, 'x'));
  const std::string before(kMaxTextBytes - 1, 'x');
  EXPECT_EQ(fit_text(before + "\xc3\xbc"), before) << "half of a message says nothing";
  EXPECT_EQ(fit_text(before.substr(2) + "\xf0\x9f\x98\x80!"), before.substr(2));
  EXPECT_EQ(fit_text(before.substr(3) + "\xf0\x9f\x98\x80!"), before.substr(3) + "\xf0\x9f\x98\x80");
}

TEST(FitText, what_steers_a_terminal_is_taken_out) {
  EXPECT_EQ(fit_text("\x1b[2J\n"), "?[2J?");
  EXPECT_EQ(fit_text("\xc2\x9b"
                     "2J"),
            "?2J");
}

RC_GTEST_PROP(FitText, whatever_comes_fits_and_then_stays, (const std::string& piece)) {
  std::string text;
  for (auto times = *rc::gen::inRange(1, 20); times > 0; --times) text += piece + "\xc2\x80\xc2";
  const std::string once = fit_text(text);
  RC_ASSERT(once.size() <= kMaxTextBytes);
  RC_ASSERT(printable(once) == once);
  RC_ASSERT(fit_text(once) == once);
  RC_ASSERT(printable(text).substr(0, once.size()) == once);
}

TEST(FieldReader, it_remembers_the_first_that_was_wrong) {
  FieldReader reader;
  EXPECT_EQ(reader.wrong(), nullptr);
  EXPECT_EQ(reader.span(-1), Duration::zero());
  EXPECT_STREQ(reader.wrong(), "an impossible duration");
}

TEST(FieldReader, what_is_at_its_bounds_passes) {
  FieldReader reader;
  EXPECT_EQ(reader.span(kLongestSpan.ns()), kLongestSpan);
  EXPECT_EQ(reader.moment(kLatestTime.unix_ns), kLatestTime);
  EXPECT_EQ(reader.workflow(kMaxWorkflows - 1), kMaxWorkflows - 1);
  EXPECT_EQ(reader.one_of<AssignmentPhase>(3, kAssignmentPhases), AssignmentPhase::kEnded);
  EXPECT_TRUE(reader.fits(3, 3));
  EXPECT_EQ(reader.wrong(), nullptr);
}

TEST(FieldReader, what_is_beyond_them_does_not) {
  const auto refuses = [](auto read) {
    FieldReader reader;
    read(reader);
    return reader.wrong() != nullptr;
  };
  EXPECT_TRUE(refuses([](auto& reader) { reader.span(kLongestSpan.ns() + 1); }));
  EXPECT_TRUE(refuses([](auto& reader) { reader.moment(-1); }));
  EXPECT_TRUE(refuses([](auto& reader) { reader.moment(kLatestTime.unix_ns + 1); }));
  EXPECT_TRUE(refuses([](auto& reader) { reader.workflow(kMaxWorkflows); }));
  EXPECT_TRUE(refuses([](auto& reader) { reader.template one_of<AssignmentPhase>(4, kAssignmentPhases); }));
  EXPECT_TRUE(refuses([](auto& reader) { reader.fits(4, 3); }));
}

}  // namespace
}  // namespace bellwether::dispatch
