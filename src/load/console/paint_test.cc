#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "load/console/terminal.h"

namespace bellwether::console {
namespace {

Terminfo simple() {
  Terminfo info;
  info.clear = "<clear>";
  info.plain = "<0>";
  info.styles[static_cast<std::size_t>(Style::kBold)] = "<b>";
  info.styles[static_cast<std::size_t>(Style::kBad)] = "<r>";
  info.move_code = "<%i%p1%d,%p2%d>";
  return info;
}

TEST(Paint, of_the_same_writes_nothing) {
  Grid grid(10, 3);
  grid.text(1, 1, "abc", Style::kBold);
  EXPECT_EQ(paint(grid, grid, simple()), "");
}

TEST(Paint, writes_only_what_differs) {
  Grid before(30, 2);
  before.text(0, 0, "requests 100   failed 0");
  Grid after = before;
  after.text(0, 9, "101");
  EXPECT_EQ(paint(before, after, simple()), "<1,12><0>1");
  after.text(0, 22, "1");
  EXPECT_EQ(paint(before, after, simple()), "<1,12><0>1<1,23>1") << "it goes past what is the same";
  after = before;
  after.text(0, 9, "101");
  after.text(1, 20, "x", Style::kBold);
  EXPECT_EQ(paint(before, after, simple()), "<1,12><0>1<2,21><0><b>x<0>");
}

TEST(Paint, of_another_size_begins_with_a_clear_screen) {
  Grid after(4, 2);
  after.text(0, 1, "ab");
  EXPECT_EQ(paint(Grid(), after, simple()), "<0><clear><1,2><0>ab");
}

TEST(Paint, never_writes_the_last_cell_of_the_last_row) {
  Grid after(3, 1);
  after.text(0, 0, "abc");
  EXPECT_EQ(paint(Grid(), after, simple()), "<0><clear><1,1><0>ab");
}

// Reads what paint() writes, as a terminal would.
class Reader {
 public:
  explicit Reader(Grid grid) : grid_(std::move(grid)) {}
  const Grid& grid() const { return grid_; }
  void read(std::string_view bytes) {
    while (!bytes.empty()) {
      if (bytes[0] == '<') {
        const std::size_t end = bytes.find('>');
        code(std::string(bytes.substr(1, end - 1)));
        bytes.remove_prefix(end + 1);
        continue;
      }
      std::size_t size = 1;
      while (size < bytes.size() && (static_cast<unsigned char>(bytes[size]) & 0xC0U) == 0x80U) ++size;
      column_ = grid_.text(row_, column_, bytes.substr(0, size), style_);
      bytes.remove_prefix(size);
    }
  }

 private:
  void code(const std::string& code) {
    if (code == "clear") {
      grid_ = Grid(grid_.columns(), grid_.rows());
    } else if (code == "0") {
      style_ = Style::kPlain;
    } else if (code == "b") {
      style_ = Style::kBold;
    } else if (code == "r") {
      style_ = Style::kBad;
    } else {
      row_ = std::stoi(code) - 1;
      column_ = std::stoi(code.substr(code.find(',') + 1)) - 1;
    }
  }
  Grid grid_;
  int row_ = 0;
  int column_ = 0;
  Style style_ = Style::kPlain;
};

RC_GTEST_PROP(Paint, makes_any_grid_of_any_other, ()) {
  const auto any_grid = [](int columns, int rows) {
    Grid grid(columns, rows);
    const int words = *rc::gen::inRange(0, 12);
    for (int i = 0; i < words; ++i) {
      const auto word = *rc::gen::elementOf(std::vector<std::string>{"abc", "商品", "x", "…", "     ", "a b c d"});
      const auto style = *rc::gen::elementOf(std::vector<Style>{Style::kPlain, Style::kBold, Style::kBad});
      grid.text(*rc::gen::inRange(0, rows), *rc::gen::inRange(0, columns), word, style);
    }
    grid.put(rows - 1, columns - 1, U' ', Style::kPlain);
    return grid;
  };
  const int columns = *rc::gen::inRange(2, 30);
  const int rows = *rc::gen::inRange(1, 5);
  const Grid before = any_grid(columns, rows);
  const Grid after = any_grid(columns, rows);
  Reader reader(before);
  reader.read(paint(before, after, simple()));
  RC_ASSERT(reader.grid() == after);
  Reader fresh(Grid(columns, rows));
  fresh.read(paint(Grid(), after, simple()));
  RC_ASSERT(fresh.grid() == after);
}

TEST(Terminfo, knows_the_terminals_that_people_have) {
  for (const char* const name : {"xterm-256color", "screen", "linux", "vt100"}) {
    const auto info = terminfo_of(name, true);
    ASSERT_TRUE(info) << name;
    EXPECT_EQ(info->move_to(2, 4), "\x1b[3;5H") << name;
    EXPECT_EQ(info->clear.find('$'), std::string::npos) << name;
  }
  const auto colored = terminfo_of("xterm-256color", true);
  const auto plain = terminfo_of("xterm-256color", false);
  EXPECT_NE(colored->styles[static_cast<std::size_t>(Style::kGood)], "");
  EXPECT_EQ(plain->styles[static_cast<std::size_t>(Style::kGood)], "");
  EXPECT_NE(plain->styles[static_cast<std::size_t>(Style::kBold)], "");
  EXPECT_NE(colored->enter.find("?1049h"), std::string::npos);
  EXPECT_NE(colored->leave.find("?1049l"), std::string::npos);
}

TEST(Terminfo, refuses_what_cannot_show_a_screen) {
  EXPECT_FALSE(terminfo_of("dumb", true));
  EXPECT_FALSE(terminfo_of("", true));
  EXPECT_FALSE(terminfo_of("no-such-terminal", true));
}

}  // namespace
}  // namespace bellwether::console
