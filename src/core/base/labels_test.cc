#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace bellwether {
namespace {

TEST(LabelValue, shows_every_key_so_that_the_page_can_be_read) {
  EXPECT_EQ(label_value("cordum:reconciler/\xc3\xa4"), "cordum:reconciler/\xc3\xa4");
  EXPECT_EQ(label_value("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  EXPECT_EQ(label_value("\xff\xc3"), "\\\\xff\\\\xc3");
  EXPECT_EQ(label_value(std::string_view("\0\x01\x7f", 3)), "\\\\x00\\\\x01\\\\x7f");
  EXPECT_EQ(label_value("\xed\xa0\x80"), "\\\\xed\\\\xa0\\\\x80") << "half of a pair";
  EXPECT_EQ(label_value("\xc0\xaf"), "\\\\xc0\\\\xaf") << "longer than needed";
}

TEST(LabelValue, stands_in_quotes_behind_its_name) {
  EXPECT_EQ(metric_label("expected", "sta\"ging\n"), "expected=\"sta\\\"ging\\n\"");
}

TEST(MetricNumber, is_the_shortest_text_that_reads_back_as_the_same) {
  EXPECT_EQ(metric_number(0), "0");
  EXPECT_EQ(metric_number(0.1), "0.1");
  EXPECT_EQ(metric_number(1e6), "1e+06");
  EXPECT_EQ(metric_number(1234567), "1234567");
}

TEST(LabelValue, is_the_text_of_the_label_with_the_escapes_of_the_page) {
  EXPECT_EQ(label_text("a\"b\\c\nd"), "a\"b\\c\nd");
  EXPECT_EQ(label_text("\xff\x01"), "\\xff\\x01");
}

}  // namespace
}  // namespace bellwether
