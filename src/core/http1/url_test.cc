#include "core/http1/url.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace bellwether::http1 {
namespace {

using testing::HasSubstr;

TEST(Url, its_parts_are_found) {
  const auto url = parse_url("http://Example.org:8080/a/b?q=1#part");
  ASSERT_TRUE(url);
  EXPECT_FALSE(url->tls);
  EXPECT_EQ(url->host, "Example.org");
  EXPECT_EQ(url->port, 8080);
  EXPECT_EQ(url->path_and_query, "/a/b?q=1");
  EXPECT_EQ(url->authority, "Example.org:8080");
}

TEST(Url, what_is_left_out_has_a_default) {
  EXPECT_EQ(parse_url("http://h")->port, 80);
  EXPECT_EQ(parse_url("HTTPS://h")->port, 443);
  EXPECT_TRUE(parse_url("HTTPS://h")->tls);
  EXPECT_EQ(parse_url("http://h:")->port, 80);
  EXPECT_EQ(parse_url("http://h")->path_and_query, "/");
  EXPECT_EQ(parse_url("http://h?q=/")->path_and_query, "/?q=/");
  EXPECT_EQ(parse_url("http://h#f/g?h")->path_and_query, "/");
}

TEST(Url, an_ipv6_address_stands_in_brackets) {
  const auto url = parse_url("http://[::1]:81/x");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 81);
  EXPECT_EQ(url->authority, "[::1]:81");
  EXPECT_EQ(parse_url("http://[fe80::1]")->port, 80);
}

TEST(Url, what_is_none_is_refused) {
  for (const char* text : {"",
                           "/path",
                           "h",
                           "ftp://h/",
                           "http:/h",
                           "http://",
                           "http:///path",
                           "http://:80",
                           "http://h:0",
                           "http://h:65536",
                           "http://h:8x",
                           "http://h:-1",
                           "http://[::1",
                           "http://[]",
                           "http://[::1]x",
                           "http://[example.org]/",
                           "http://[a/b]",
                           "http://a:b:c/",
                           "http://a<b/",
                           "http://a\\b/",
                           "http://a%41/",
                           "://h",
                           "javascript:alert(1)"}) {
    EXPECT_FALSE(parse_url(text)) << text;
    UrlView view;
    EXPECT_EQ(split_url(text, view), Errc::kInvalid) << text;
  }
  EXPECT_FALSE(parse_url("http://" + std::string(254, 'a')));
  EXPECT_TRUE(parse_url("http://" + std::string(253, 'a')));
}

TEST(Url, what_could_end_a_request_line_is_refused) {
  for (const char byte : {' ', '\t', '\r', '\n', '\0', '\x7f', '\x1b'}) {
    const auto url = parse_url(std::string("http://h/a") + byte + "b");
    ASSERT_FALSE(url);
    EXPECT_THAT(url.error().message, HasSubstr("percent-encoded"));
  }
}

TEST(Url, a_user_name_is_refused_with_advice_but_an_at_sign_in_the_path_is_fine) {
  const auto url = parse_url("http://me:secret@h/");
  ASSERT_FALSE(url);
  EXPECT_THAT(url.error().message, HasSubstr("Authorization"));
  EXPECT_TRUE(parse_url("http://h/@me"));
}

TEST(Url, references_mean_what_rfc_3986_says) {
  const auto base = parse_url("http://a/b/c/d;p?q");
  ASSERT_TRUE(base);
  const std::pair<const char*, const char*> kExamples[] = {
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q"},
      {"g#s", "http://a/b/c/g"},
      {"g?y#s", "http://a/b/c/g?y"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"https://other/x", "https://other/x"},
  };
  for (const auto& [reference, meaning] : kExamples) EXPECT_EQ(resolve(*base, reference), meaning) << reference;
}

TEST(Url, a_reference_keeps_scheme_and_port) {
  EXPECT_EQ(resolve(*parse_url("https://h:8443/a"), "/b"), "https://h:8443/b");
  EXPECT_EQ(resolve(*parse_url("https://h:8443/a"), "//g/b"), "https://g/b");
  EXPECT_EQ(resolve(*parse_url("http://[::1]:81/a"), "b"), "http://[::1]:81/b");
}

RC_GTEST_PROP(Url, whatever_a_reference_holds_the_answer_is_a_url_or_refused_and_fit_to_send, ()) {
  const auto base = parse_url("http://a/b/c?d");
  const auto reference = *rc::gen::container<std::string>(
      rc::gen::element('/', '.', '?', '#', ':', 'a', '@', '[', ']', '\r', '\n', ' ', '%'));
  const auto url = parse_url(resolve(*base, reference));
  if (!url) return;
  RC_ASSERT(url->path_and_query.starts_with('/'));
  RC_ASSERT(url->path_and_query.find_first_of(" \r\n#") == std::string::npos);
  RC_ASSERT(url->authority.find_first_of(" \r\n@/?#") == std::string::npos);
  RC_ASSERT(!url->host.empty());
}

}  // namespace
}  // namespace bellwether::http1
