#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>

#include "load/plan/selectors.h"
#include "load/vuser/body_readers.h"

namespace bellwether::vuser {
namespace {

constexpr std::string_view kPage = R"(<!doctype html>
<html><head><title>Shop &amp; more</title><meta name=csrf content="t&quot;1"></head>
<body><ul id=items class="big list">
<li class="item first"><a href="/1">Eins</a>
<li class="item"><a href="/2?x=1&y=2">Zwei <b>fett</b></a>
<li class=item data-x="it's">Drei äöü
</ul><form><input type=hidden name=csrf value="abc"></form></body>)";

class Markup : public testing::Test {
 protected:
  std::string find(const std::string& xpath, std::string_view body = kPage, bool is_xml = false) {
    if (!reader_.open(body, is_xml)) return "(not read)";
    const MarkupReader::Expression expression(xpath);
    std::string out;
    return reader_.find_text(expression, out) ? out : "(nothing)";
  }
  std::string select(std::string_view css, std::string_view attribute = {}) {
    return find(*plan::css_to_xpath(css, attribute));
  }
  // Runs it in a thread of its own.
  static void on_small_stack(const std::function<void()>& work) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 2 << 20);
    pthread_t thread{};
    const auto run = [](void* what) -> void* { return (*static_cast<const std::function<void()>*>(what))(), nullptr; };
    ASSERT_EQ(pthread_create(&thread, &small, run, const_cast<std::function<void()>*>(&work)), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&small);
  }
  MarkupReader reader_;
};

TEST_F(Markup, html_as_it_is_written) {
  EXPECT_EQ(find("//title"), "Shop & more");
  EXPECT_EQ(find("//meta[@name='csrf']/@content"), "t\"1");
  EXPECT_EQ(find("//a/@href"), "/1") << "the first of several";
  EXPECT_EQ(find("count(//li)"), "3");
  EXPECT_EQ(find("//li[3]/text()"), "Drei äöü\n");
  EXPECT_EQ(find("//nothing"), "(nothing)");
  EXPECT_EQ(find("boolean(//ul)"), "true");
}

TEST_F(Markup, selectors) {
  EXPECT_EQ(select("input[name=csrf]", "value"), "abc");
  EXPECT_EQ(select("#items > .item + li a", "href"), "/2?x=1&y=2");
  EXPECT_EQ(select("li:nth-child(2) a"), "Zwei fett");
  EXPECT_EQ(select("li:last-child", "data-x"), "it's");
  EXPECT_EQ(select("li:not(.first) b"), "fett");
  EXPECT_EQ(select("a[href$='y=2'] b"), "fett");
  EXPECT_EQ(select("ul.list.big li.first"), "Eins\n");
  EXPECT_EQ(select("ul.lis"), "(nothing)") << "a class is a whole word";
}

TEST_F(Markup, selectors_of_level_3) {
  constexpr std::string_view kBody =
      "<html lang=en-GB><body><div id=d><p id=p1>a</p><b id=b1>b</b><p id=p2 lang=fr>c</p><i id=i1></i><p "
      "id=p3>d</p></div>"
      "<div id=e><p id=q1>x</p></div><a name=x>no</a><a href=/y>yes</a>"
      "<input id=n1 type=checkbox checked><input id=n2 disabled checked><select><option id=o1><option id=o2 "
      "selected></select>"
      "<span id='1:2' class='a:b' data-v='caf\xc3\xa9'>s</span></body></html>";
  const auto id = [&](const std::string& css) { return find(*plan::css_to_xpath(css, "id"), kBody); };
  EXPECT_EQ(id("#d p:first-of-type"), "p1");
  EXPECT_EQ(id("#d p:last-of-type"), "p3");
  EXPECT_EQ(id("#d p:nth-of-type(2)"), "p2");
  EXPECT_EQ(id("#d p:nth-last-of-type(2)"), "p2");
  EXPECT_EQ(id("#d p:nth-of-type(2n+3)"), "p3");
  EXPECT_EQ(id("#d *:only-of-type"), "b1");
  EXPECT_EQ(id("p:only-of-type"), "q1");
  EXPECT_EQ(id("#d :nth-of-type(2)"), "p2");
  EXPECT_EQ(id("div :empty"), "i1");
  EXPECT_EQ(id("p:lang(fr)"), "p2");
  EXPECT_EQ(id("p:not(:lang(en))"), "p2");
  EXPECT_EQ(id("b:lang(EN-gb)"), "b1");
  EXPECT_EQ(id("b:lang(e)"), "(nothing)");
  EXPECT_EQ(id(":checked"), "n1");
  EXPECT_EQ(id("option:checked"), "o2");
  EXPECT_EQ(id("input:disabled"), "n2");
  EXPECT_EQ(id("input:enabled"), "n1");
  EXPECT_EQ(find(*plan::css_to_xpath("a:link", ""), kBody), "yes");
  EXPECT_EQ(find(*plan::css_to_xpath(":root", "lang"), kBody), "en-GB");
  EXPECT_EQ(find(*plan::css_to_xpath("#\\31\\:2.a\\:b[data-v=\"caf\\e9\"]", ""), kBody), "s");
  EXPECT_EQ(id("*|p"), "p1");
}

TEST_F(Markup, counting_siblings_has_an_end) {
  std::string page = "<ul>";
  for (int i = 0; i < 30'000; ++i) page += "<li>";
  EXPECT_EQ(find(*plan::css_to_xpath("li:nth-of-type(29999)", ""), page), "(nothing)");
  EXPECT_EQ(find("same-before(1)", page), "(nothing)");
}

TEST_F(Markup, all_nodes_are_counted_and_listed) {
  ASSERT_TRUE(reader_.open(kPage, false));
  std::string out;
  EXPECT_EQ(reader_.count(MarkupReader::Expression("//a")), 2u);
  EXPECT_EQ(reader_.count(MarkupReader::Expression("//none")), 0u);
  EXPECT_TRUE(reader_.find_list(MarkupReader::Expression("//meta/@content | //a/@href"), out));
  EXPECT_EQ(out, R"(["t\"1","/1","/2?x=1&y=2"])");
  EXPECT_TRUE(reader_.find_list(MarkupReader::Expression("//none"), out));
  EXPECT_EQ(out, "[]");
  EXPECT_TRUE(reader_.find_list(MarkupReader::Expression("count(//a)"), out));
  EXPECT_EQ(out, "[\"2\"]");
  EXPECT_TRUE(reader_.find_text(MarkupReader::Expression("//a/@href"), out, 1));
  EXPECT_EQ(out, "/2?x=1&y=2");
  EXPECT_FALSE(reader_.find_text(MarkupReader::Expression("//a/@href"), out, 2));
}

// A load thread has a stack of 8 MiB.
TEST_F(Markup, deep_pages_and_long_expressions_need_little_stack) {
  std::string page;
  for (int i = 0; i < 20'000; ++i) page += "<div>";
  std::string selector = "div";
  while (selector.size() + 6 < 4096) selector += ">div";
  std::string xpath = "//div";
  while (xpath.size() + 7 < 16384) xpath += "[*]/div";
  const auto css = plan::css_to_xpath(selector, "");
  ASSERT_TRUE(css);
  const std::string nested = std::string(8'000, '(') + "1" + std::string(8'000, ')');
  EXPECT_FALSE(plan::check_xpath(nested));
  std::string found;
  on_small_stack([&] {
    EXPECT_TRUE(reader_.open(page, false));
    for (const std::string& one : {*css, xpath}) {
      if (plan::check_xpath(one)) found += std::to_string(reader_.count(MarkupReader::Expression(one)).has_value());
    }
    reader_.close();
    EXPECT_FALSE(reader_.open("<a>" + page, true));
  });
  EXPECT_FALSE(found.empty());
}

TEST_F(Markup, xml_reads_nothing_from_outside) {
  EXPECT_EQ(find("/a/b[2]", "<?xml version='1.0'?><a><b>1</b><b><![CDATA[<2>]]></b></a>", true), "<2>");
  EXPECT_EQ(find("//b", "<a><b>no end", true), "(not read)");
  const std::string outside =
      "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/hostname\"><!ENTITY y \"inside\">]><a>[&x;]</a>";
  EXPECT_EQ(find("string(/a)", outside, true), "[]");
}

TEST_F(Markup, entities_that_grow_without_bound_are_refused) {
  std::string bomb = "<!DOCTYPE a [<!ENTITY e0 \"0123456789\">";
  for (int i = 1; i < 12; ++i) {
    bomb += "<!ENTITY e" + std::to_string(i) + " \"";
    for (int k = 0; k < 10; ++k) bomb += "&e" + std::to_string(i - 1) + ";";
    bomb += "\">";
  }
  bomb += "]><a>&e11;</a>";
  const std::string seen = find("string(/a)", bomb, true);
  EXPECT_LT(seen.size(), 20'000'000u);
}

TEST_F(Markup, an_expression_that_takes_too_long_gives_nothing) {
  std::string body = "<r>";
  for (int i = 0; i < 3000; ++i) body += "<a/>";
  body += "</r>";
  EXPECT_EQ(find("count(//a[count(//a[count(//a) > 0]) > 0])", body, true), "(nothing)");
}

TEST_F(Markup, what_is_no_document_is_none) {
  EXPECT_EQ(find("//a", ""), "(not read)");
  EXPECT_EQ(find("//a", "{\"a\": 1}", true), "(not read)");
  EXPECT_EQ(find("//a", "plain text"), "(nothing)");
  EXPECT_EQ(find("//a", std::string_view("\0\xff<a\0", 5)), "(nothing)");
}

TEST(LooksLikeXml, by_the_type_or_the_beginning) {
  EXPECT_TRUE(looks_like_xml("application/rss+xml; charset=utf-8", ""));
  EXPECT_TRUE(looks_like_xml("text/xml", ""));
  EXPECT_TRUE(looks_like_xml("", "  <?xml version='1.0'?>"));
  EXPECT_FALSE(looks_like_xml("text/html", "<?xml version='1.0'?><html/>"));
  EXPECT_FALSE(looks_like_xml("", "<html>"));
}

}  // namespace
}  // namespace bellwether::vuser
