#include <gmock/gmock.h>

#include "load/plan/selectors.h"

namespace bellwether::plan {
namespace {

std::string xpath_of(std::string_view selector, std::string_view attribute = {}) {
  const auto made = css_to_xpath(selector, attribute);
  if (!made) return "error: " + made.error().message;
  const Status good = check_xpath(*made);
  EXPECT_TRUE(good) << selector << " is " << *made;
  return *made;
}

TEST(Css, names_and_what_stands_beside_them) {
  EXPECT_EQ(xpath_of("A"), "//a");
  EXPECT_EQ(xpath_of("*"), "//*");
  EXPECT_EQ(xpath_of("#main"), "//*[@id='main']");
  EXPECT_EQ(xpath_of("p.note.big"),
            "//p[contains(concat(' ',normalize-space(@class),' '),' note ')]"
            "[contains(concat(' ',normalize-space(@class),' '),' big ')]");
  EXPECT_EQ(xpath_of("input[name=csrf]", "VALUE"), "//input[@name='csrf']/@value");
}

TEST(Css, combinators_and_groups) {
  EXPECT_EQ(xpath_of("ul li"), "//ul//li");
  EXPECT_EQ(xpath_of("ul>li > a"), "//ul/li/a");
  EXPECT_EQ(xpath_of("h1 + p"), "//h1/following-sibling::*[1][self::p]");
  EXPECT_EQ(xpath_of("h1 ~ p"), "//h1/following-sibling::p");
  EXPECT_EQ(xpath_of(" a , b ", "href"), "//a/@href | //b/@href");
}

TEST(Css, attributes_with_every_operator) {
  EXPECT_EQ(xpath_of("[href]"), "//*[@href]");
  EXPECT_EQ(xpath_of("[a='x y']"), "//*[@a='x y']");
  EXPECT_EQ(xpath_of("[a|=en]"), "//*[(@a='en' or starts-with(@a,'en-'))]");
  EXPECT_EQ(xpath_of("[a^=\"/x\"]"), "//*[starts-with(@a,'/x')]");
  EXPECT_EQ(xpath_of("[a*=x]"), "//*[contains(@a,'x')]");
  EXPECT_EQ(xpath_of("[a$=x]"), "//*[substring(@a,string-length(@a)-string-length('x')+1)='x']");
  EXPECT_EQ(xpath_of("[a^='']"), "//*[false()]") << "an empty text fits nothing";
  EXPECT_EQ(xpath_of("[a=\"it's\"]"), "//*[@a=\"it's\"]");
}

TEST(Css, places_among_siblings) {
  EXPECT_EQ(xpath_of("li:first-child"), "//li[not(preceding-sibling::*)]");
  EXPECT_EQ(xpath_of("li:nth-child(3)"), "//li[(count(preceding-sibling::*)+1)=3]");
  EXPECT_EQ(xpath_of("li:nth-child( 2n + 1 )"),
            "//li[(count(preceding-sibling::*)+1)-(1)>=0 and ((count(preceding-sibling::*)+1)-(1)) mod 2=0]");
  EXPECT_EQ(xpath_of("li:nth-child(odd)"), xpath_of("li:nth-child(2n+1)"));
  EXPECT_EQ(xpath_of("li:nth-child(-n+3)"),
            "//li[(count(preceding-sibling::*)+1)-(3)<=0 and ((count(preceding-sibling::*)+1)-(3)) mod -1=0]");
  EXPECT_EQ(xpath_of("a:not(.x):not([y])"),
            "//a[not(contains(concat(' ',normalize-space(@class),' '),' x '))][not(@y)]");
}

TEST(Css, what_is_none_is_told_with_its_place) {
  for (const char* selector : {"",
                               ">",
                               "a >",
                               "a,,b",
                               "#",
                               ".",
                               "[",
                               "[a",
                               "[a=",
                               "[a='x",
                               "a:hover",
                               "a:nth-child(x)",
                               "a:not(",
                               "a:not(:not(b))",
                               "a!b",
                               "a:nth-child(99999999999)",
                               "a:nth-child(",
                               "#1",
                               ".1a",
                               "1a",
                               "-1",
                               ".-",
                               "[a=1]",
                               "[1a]",
                               "[a='x\ny']",
                               "a:nth-child(3 -2n)",
                               "a:nth-child(2 n)",
                               "a:nth-child(n2)",
                               "a:nth-child(+ 2n)",
                               "a:nth-child()",
                               "a::before",
                               "a:first-line",
                               "a:focus",
                               "a:lang()",
                               "ns|a",
                               "ns|*",
                               "*|",
                               "a:not()",
                               "a:not(b c)",
                               "a:not(b, c)",
                               "a:first-child()b",
                               "\\",
                               "a\\\nb",
                               "[a=b\\",
                               "a:nth-child(1",
                               "a /* b"}) {
    EXPECT_THAT(xpath_of(selector), testing::StartsWith("error: at character ")) << selector;
  }
  EXPECT_THAT(xpath_of("a", "x]"), testing::StartsWith("error: "));
  EXPECT_THAT(xpath_of(std::string(5000, 'a')), testing::StartsWith("error: "));
}

TEST(Css, escapes_stand_for_characters) {
  EXPECT_EQ(xpath_of("#\\31 23"), "//*[@id='123']");
  EXPECT_EQ(xpath_of("#\\000031x"), "//*[@id='1x']");
  EXPECT_EQ(xpath_of("#a\\:b"), "//*[@id='a:b']");
  EXPECT_EQ(xpath_of("[x=\"\\e9\"]"), "//*[@x='é']");
  EXPECT_EQ(xpath_of("[x='\\1F600 y']"), "//*[@x='😀y']");
  EXPECT_EQ(xpath_of("[x='a\\'b']"), "//*[@x=\"a'b\"]");
  EXPECT_EQ(xpath_of("[x='a\\\nb']"), "//*[@x='ab']");
  EXPECT_EQ(xpath_of("[x=\\0]"), "//*[@x='\xEF\xBF\xBD']");
  EXPECT_EQ(xpath_of("a\\:b"), "//*[name()='a:b']");
  EXPECT_EQ(xpath_of("[xlink\\:href]"), "//*[@*[name()='xlink:href']]");
}

TEST(Css, namespaces_are_any_or_none) {
  EXPECT_EQ(xpath_of("*|a"), "//*[local-name()='a']");
  EXPECT_EQ(xpath_of("*|*"), "//*");
  EXPECT_EQ(xpath_of("|a"), "//a");
  EXPECT_EQ(xpath_of("[*|href]"), "//*[@*[local-name()='href']]");
  EXPECT_EQ(xpath_of("[|href|=x]"), "//*[(@href='x' or starts-with(@href,'x-'))]");
  EXPECT_EQ(xpath_of(":not(*|a)"), "//*[not(self::*[local-name()='a'])]");
}

TEST(Css, steps_of_nth_have_the_blanks_and_signs_of_the_standard) {
  const std::string odd = xpath_of("li:nth-child(2n+1)");
  for (const char* same : {"odd", "ODD", " 2n + 1 ", "2N+1", "+2n+1", "2n+ 1"}) {
    EXPECT_EQ(xpath_of("li:nth-child(" + std::string(same) + ")"), odd) << same;
  }
  EXPECT_EQ(xpath_of("li:nth-child(even)"), xpath_of("li:nth-child(2n+0)"));
  EXPECT_EQ(xpath_of("li:nth-child(n)"), xpath_of("li:nth-child(1n + 0)"));
  EXPECT_EQ(xpath_of("li:nth-child(-n - 1)"), xpath_of("li:nth-child(-1n-1)"));
  EXPECT_EQ(xpath_of("li:nth-child(+3)"), xpath_of("li:nth-child(3)"));
}

TEST(Css, comments_are_nothing) {
  EXPECT_EQ(xpath_of("a /* x */ b"), "//a//b");
  EXPECT_EQ(xpath_of("a/**/>/**/b"), "//a/b");
}

TEST(Xpath, what_is_none_is_told) {
  EXPECT_TRUE(check_xpath("count(//a[@href])"));
  for (const char* text : {"", "//a[", "//a[@", "//", "a b"}) EXPECT_FALSE(check_xpath(text)) << text;
}

}  // namespace
}  // namespace bellwether::plan
