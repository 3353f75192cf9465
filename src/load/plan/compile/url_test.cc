#include "load/plan/compile/url.h"

#include <gtest/gtest.h>

#include "load/plan/compile/template.h"
#include "load/plan/load_testing.h"
#include "load/plan/selectors.h"

namespace bellwether::plan {
namespace {

// The completed URL, or "error: …".
std::string complete(const std::string& url, const std::string& base = "") {
  Template text;
  append_literal(text, url);
  const Status status = complete_url(text, base);
  return status ? show(text) : "error: " + status.error().message;
}

TEST(Url, base_and_path_meet_in_exactly_one_slash) {
  EXPECT_EQ(complete("/a", "http://h"), "http://h/a");
  EXPECT_EQ(complete("a", "http://h"), "http://h/a");
  EXPECT_EQ(complete("/a", "http://h/api/"), "http://h/api/a");
  EXPECT_EQ(complete("?q=1", "http://h/api"), "http://h/api?q=1");
  EXPECT_EQ(complete("", "http://h"), "http://h/");
  EXPECT_EQ(complete("HTTPS://other/x", "http://h"), "HTTPS://other/x");
}

TEST(Url, an_empty_path_becomes_a_slash_and_a_fragment_is_dropped) {
  EXPECT_EQ(complete("http://h"), "http://h/");
  EXPECT_EQ(complete("http://h?a=b"), "http://h/?a=b");
  EXPECT_EQ(complete("http://h/a#b?c"), "http://h/a");
  EXPECT_EQ(complete("http://h#b"), "http://h/");
}

TEST(Url, what_no_url_may_contain_is_encoded) {
  EXPECT_EQ(complete("http://h/a b\n\"é%20"), "http://h/a%20b%0A%22%C3%A9%20");
}

TEST(Url, hosts_and_ports_are_checked) {
  EXPECT_EQ(complete("http://[::1]:80/"), "http://[::1]:80/");
  EXPECT_EQ(complete("http://1.2.3.4:65535/"), "http://1.2.3.4:65535/");
  EXPECT_EQ(complete("http://h:0/"), "error: '0' is no port from 1 to 65535");
  EXPECT_EQ(complete("http://h:/"), "error: '' is no port from 1 to 65535");
  EXPECT_EQ(complete("http://:80/"), "error: the URL names no host");
  EXPECT_EQ(complete("http://[]/"), "error: the URL names no host");
  EXPECT_EQ(complete("http://[::1/"), "error: ']' is missing after the address of the host");
  EXPECT_EQ(complete("http://h\r\nX/"), "error: 'h\r\nX' is no host");
  EXPECT_EQ(complete("http://a@h/"), "error: a URL cannot carry a user name; send an Authorization header instead");
}

TEST(Url, a_host_may_be_known_only_at_run_time) {
  Template url;
  append_literal(url, "http://node-");
  Piece vu;
  vu.kind = Piece::Kind::kBuiltin;
  append_piece(url, vu, Place::kUrl);
  append_literal(url, ".local/x#y");
  ASSERT_TRUE(complete_url(url, ""));
  EXPECT_EQ(show(url), "http://node-{vu|url}.local/x");
}

std::string path_of(const std::string& text) {
  const auto path = parse_json_path(text);
  if (!path) return "error: " + path.error().message;
  std::string out;
  for (const JsonPath::Step& step : path->steps) {
    out += step.is_index ? "[" + std::to_string(step.index) + "]" : "<" + step.key + ">";
  }
  return out;
}

TEST(JsonPath, names_members_and_elements) {
  EXPECT_EQ(path_of("$"), "");
  EXPECT_EQ(path_of("$.a.b-c"), "<a><b-c>");
  EXPECT_EQ(path_of("$[0][-1].id"), "[0][-1]<id>");
  EXPECT_EQ(path_of("$['a.b'][\"c d\"]"), "<a.b><c d>");
}

TEST(JsonPath, anything_else_is_refused) {
  EXPECT_EQ(path_of(""), "error: a JSON path begins with $");
  EXPECT_EQ(path_of("$a"), "error: '.' or '[' is missing at character 2");
  EXPECT_EQ(path_of("$."), "error: the name of one member is missing at character 3");
  EXPECT_EQ(path_of("$.*"), "error: the name of one member is missing at character 3");
  EXPECT_EQ(path_of("$[*]"), "error: only an index or a quoted name may stand in brackets at character 2");
  EXPECT_EQ(path_of("$[99999999999]"), "error: only an index or a quoted name may stand in brackets at character 2");
  EXPECT_EQ(path_of("$['a'"), "error: a name in brackets is not closed at character 2");
  std::string deep = "$";
  for (int i = 0; i < 65; ++i) deep += ".a";
  EXPECT_EQ(path_of(deep), "error: a JSON path has at most 64 steps: too many at character 130");
}

}  // namespace
}  // namespace bellwether::plan
