#include "load/console/grid.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace bellwether::console {
namespace {

TEST(Grid, text_stands_where_it_is_put_and_ends_at_its_end) {
  Grid grid(10, 2);
  EXPECT_EQ(grid.text(0, 2, "abc"), 5);
  EXPECT_EQ(grid.text(1, 7, "abcdef"), 10);
  grid.text(0, 6, "wxyz", Style::kBold, 8);
  EXPECT_EQ(grid.line(0), "  abc wx");
  EXPECT_EQ(grid.line(1), "       abc");
  EXPECT_EQ(grid.at(0, 6).style, Style::kBold);
}

TEST(Grid, what_is_outside_is_not_drawn) {
  Grid grid(3, 1);
  grid.put(-1, 0, U'x', Style::kPlain);
  grid.put(1, 0, U'x', Style::kPlain);
  grid.put(0, -1, U'x', Style::kPlain);
  grid.put(0, 3, U'x', Style::kPlain);
  EXPECT_EQ(grid, Grid(3, 1));
}

TEST(Grid, wide_characters_take_two_cells_and_are_never_halved) {
  Grid grid(5, 1);
  EXPECT_EQ(grid.text(0, 0, "商品を"), 4);  // the third does not fit
  EXPECT_EQ(grid.line(0), "商品");
  grid.put(0, 1, U'x', Style::kPlain);
  EXPECT_EQ(grid.line(0), " x品");
  grid.put(0, 1, U'の', Style::kPlain);
  EXPECT_EQ(grid.line(0), " の");
  EXPECT_EQ(columns_of("a商e\xcc\x81"), 4);  // the accent stands on the e
}

TEST(Grid, what_is_no_text_becomes_a_question_mark) {
  Grid grid(20, 1);
  grid.text(0, 0,
            "a\x1b"
            "b\xff"
            "c\xc2\x9b"
            "d\xe2\x82");
  EXPECT_EQ(grid.line(0), "a?b?c?d??");
}

TEST(Grid, text_to_the_right_ends_before_its_column) {
  Grid grid(8, 1);
  grid.text_right(0, 6, "abc");
  EXPECT_EQ(grid.line(0), "   abc");
}

TEST(Fitted, ends_in_a_mark_where_it_is_cut) {
  EXPECT_EQ(fitted("browse", 6, true), "browse");
  EXPECT_EQ(fitted("browse", 5, true), "brow…");
  EXPECT_EQ(fitted("browse", 5, false), "br...");
  EXPECT_EQ(fitted("browse", 0, true), "");
  EXPECT_EQ(fitted("商品", 3, true), "商…");
}

RC_GTEST_PROP(Fitted, never_takes_more_columns_than_there_are, (const std::string& text, bool utf8)) {
  const int columns = *rc::gen::inRange(0, 40);
  RC_ASSERT(columns_of(fitted(text, columns, utf8)) <= columns);
}

}  // namespace
}  // namespace bellwether::console
