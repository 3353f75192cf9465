#include <gtest/gtest.h>

#include "load/plan/compile/compile.h"
#include "load/plan/compile/template.h"
#include "load/plan/load_testing.h"

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

TEST(Url, a_host_in_other_letters_becomes_ascii) {
  EXPECT_EQ(complete("http://Bücher.example:81/ü"), "http://xn--bcher-kva.example:81/%C3%BC");
  EXPECT_EQ(complete("https://bücher.example"), "https://xn--bcher-kva.example/");
  EXPECT_EQ(complete("/x", "https://bücher.example"), "https://xn--bcher-kva.example/x");
  EXPECT_TRUE(complete("http://b\xff/").starts_with("error: 'b\xff' is no name of a host: "))
      << complete("http://b\xff/");
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
  EXPECT_EQ(
      complete("http://a@h/"),
      "error: a URL cannot carry a user name or a password; a scenario has the key 'auth' for them: auth: {basic: "
      "{user: NAME, password: SECRET}}; the command line takes --header 'Authorization: …'");
}

TEST(Url, a_value_at_the_begin_is_a_link) {
  const auto linked = [](std::string_view base) {
    Template url;
    Piece slot;
    slot.kind = Piece::Kind::kSlot;
    append_piece(url, slot, Place::kUrl);
    append_literal(url, "/x y#z");
    EXPECT_TRUE(complete_url(url, base));
    EXPECT_EQ(url.pieces[base.empty() ? 0 : 1].escape, Escape::kLink);
    EXPECT_EQ(url.pieces.back().literal, "/x%20y");
    return base.empty() ? std::string() : url.pieces[0].literal;
  };
  EXPECT_EQ(linked(""), "");
  EXPECT_EQ(linked("http://h/api/"), "http://h/api/");
  const auto behind = [](std::string url, std::string_view link) { return append_link(link, url) ? url : "none"; };
  EXPECT_EQ(behind("http://h/api/", "items/7?a=b%20c&d=ü#f"), "http://h/api/items/7?a=b%20c&d=%C3%BC");
  EXPECT_EQ(behind("http://h/api/", "/items"), "http://h/api/items");
  EXPECT_EQ(behind("http://h/api/", "?page=2"), "http://h/api?page=2");
  EXPECT_EQ(behind("http://h/api/", "HTTPS://other/x"), "HTTPS://other/x");
  EXPECT_EQ(behind("", "http://other/x"), "http://other/x");
  EXPECT_EQ(behind("", "/items"), "none");
}

TEST(Url, a_query_behind_a_link_begins_at_run_time) {
  Template url;
  Piece slot;
  slot.kind = Piece::Kind::kSlot;
  append_piece(url, slot, Place::kUrl);
  ASSERT_TRUE(complete_url(url, ""));
  Template text;
  append_literal(text, "a");
  append_query(url, text, text);
  append_query(url, text, text);
  ASSERT_EQ(url.pieces.size(), 3u);
  EXPECT_EQ(url.pieces[1].kind, Piece::Kind::kQueryStart);
  EXPECT_EQ(url.pieces[2].literal, "a=a&a=a");
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

}  // namespace
}  // namespace bellwether::plan
