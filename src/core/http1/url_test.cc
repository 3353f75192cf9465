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

// The URL that a reference means, written out; "refused".
std::string resolved(std::string_view base, std::string_view reference) {
  const auto url = resolve(parse_url(base).value(), reference);
  if (!url) return "refused";
  return (url->tls ? "https://" : "http://") + url->authority + url->path_and_query;
}

TEST(Url, references_mean_what_rfc_3986_says) {
  const std::pair<const char*, const char*> kExamples[] = {
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g/"},
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
  for (const auto& [reference, meaning] : kExamples) {
    EXPECT_EQ(resolved("http://a/b/c/d;p?q", reference), meaning) << reference;
  }
}

TEST(Url, a_reference_keeps_scheme_and_port) {
  EXPECT_EQ(resolved("https://h:8443/a", "/b"), "https://h:8443/b");
  EXPECT_EQ(resolved("https://h:8443/a", "//g/b"), "https://g/b");
  EXPECT_EQ(resolved("http://[::1]:81/a", "b"), "http://[::1]:81/b");
}

TEST(Url, the_port_of_the_scheme_is_left_out) {
  EXPECT_EQ(authority_of(false, "h", 80), "h");
  EXPECT_EQ(authority_of(true, "h", 443), "h");
  EXPECT_EQ(authority_of(true, "h", 80), "h:80");
  EXPECT_EQ(authority_of(false, "::1", 80), "[::1]");
  EXPECT_EQ(authority_of(false, "::1", 81), "[::1]:81");
  EXPECT_EQ(resolved("http://h/", "http://g:80/x"), "http://g/x");
  EXPECT_EQ(resolved("http://h/", "https://g:443/x"), "https://g/x");
  EXPECT_EQ(resolved("http://h/", "https://g:80/x"), "https://g:80/x");
  EXPECT_EQ(resolved("http://h:80/", "/x"), "http://h/x");
}

TEST(Url, what_must_not_be_sent_in_a_reference_becomes_an_escape) {
  const std::pair<const char*, const char*> kExamples[] = {
      {"/a b", "http://h/a%20b"},
      {"/ü?ü=ß", "http://h/%C3%BC?%C3%BC=%C3%9F"},
      {"/a\"<>^`{}b", "http://h/a%22%3C%3E%5E%60%7B%7Db"},
      {"/?a \"<>'b", "http://h/?a%20%22%3C%3E%27b"},
      {"/?{}^`|\\", "http://h/?{}^`|\\"},
      {"/a|b[c]", "http://h/a|b[c]"},
      {"/%41%zz%", "http://h/%41%zz%"},
      {"/a\x01\x7f", "http://h/a%01%7F"},
      {"/\xff", "http://h/%FF"},
      {" \t/a ", "http://h/a"},
      {"/a\tb\r\nc", "http://h/abc"},
  };
  for (const auto& [reference, meaning] : kExamples)
    EXPECT_EQ(resolved("http://h/d/e", reference), meaning) << reference;
}

TEST(Url, references_are_read_as_browsers_read_them) {
  const std::pair<const char*, const char*> kExamples[] = {
      {"\\a\\b?c\\d", "http://h/a/b?c\\d"},
      {"\\\\g\\x", "http://g/x"},
      {"///g/x", "http://g/x"},
      {"http:x", "http://h/d/x"},
      {"http:/x", "http://h/x"},
      {"HTTP:///g", "http://g/"},
      {"https:g/x", "https://g/x"},
      {"https:/g/x", "https://g/x"},
      {"%2e%2E/x", "http://h/x"},
      {".%2e/%2e/x", "http://h/x"},
      {"x/%2e", "http://h/d/x/"},
      {"...", "http://h/d/..."},
      {"a//b/../c", "http://h/d/a//c"},
      {"//g?q", "http://g/?q"},
      {"x:y", "refused"},
      {"1:y", "http://h/d/1:y"},
      {"//", "refused"},
      {"//g:99999/", "refused"},
      {"//g:x/", "refused"},
      {"//me:pw@g/", "refused"},
      {"//a b/", "refused"},
      {"//[::1]:81/x", "http://[::1]:81/x"},
      {"//[::1", "refused"},
  };
  for (const auto& [reference, meaning] : kExamples)
    EXPECT_EQ(resolved("http://h/d/e?f", reference), meaning) << reference;
}

TEST(Url, the_host_of_a_reference_becomes_ascii) {
  EXPECT_EQ(resolved("http://h/", "http://Bücher.example:81/x"), "http://xn--bcher-kva.example:81/x");
  EXPECT_EQ(resolved("http://h/", "//b%C3%BCcher.example"), "http://xn--bcher-kva.example/");
  EXPECT_EQ(resolved("http://h/", "//EXAMPLE.org/x"), "http://example.org/x");
  for (const char* host : {"//%00/", "//a%2fb/", "//a%40b/", "//a%zz/", "//%ff/", "//a%20b/", "//a%3a80/"}) {
    EXPECT_EQ(resolved("http://h/", host), "refused") << host;
  }
}

RC_GTEST_PROP(Url, whatever_a_reference_holds_the_answer_is_a_url_or_refused_and_fit_to_send, ()) {
  const auto base = parse_url("http://a/b/c?d");
  const auto reference = *rc::gen::container<std::string>(rc::gen::element(
      '/', '.', '?', '#', ':', 'a', '@', '[', ']', '\r', '\n', ' ', '%', '\\', '\xc3', '\xbc', '2', 'e'));
  const auto url = resolve(*base, reference);
  if (!url) return;
  RC_ASSERT(url->path_and_query.starts_with('/'));
  RC_ASSERT(url->path_and_query.find_first_of(" \r\n#") == std::string::npos);
  RC_ASSERT(url->authority.find_first_of(" \r\n@/?#") == std::string::npos);
  RC_ASSERT(!url->host.empty());
  const auto again = resolve(*url, "");
  RC_ASSERT(again && again->path_and_query == url->path_and_query && again->authority == url->authority);
}

}  // namespace
}  // namespace bellwether::http1
