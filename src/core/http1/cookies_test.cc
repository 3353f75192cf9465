#include "core/http1/cookies.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace bellwether::http1 {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr WallTime kNow{1'700'000'000 * kSecond};  // 2023-11-14 22:13:20 UTC

WallTime after(int64_t seconds) { return {kNow.unix_ns + seconds * kSecond}; }

std::string sent(const CookieJar& jar, std::string_view host, std::string_view target, bool secure = false,
                 WallTime now = kNow) {
  std::string out;
  jar.append_header(host, target, secure, now, out);
  return out;
}

// What http://example.org/dir/page set, as sent back to it.
std::string back(std::string_view set_cookie, WallTime now = kNow) {
  CookieJar jar;
  jar.store(set_cookie, "example.org", "/dir/page", kNow);
  return sent(jar, "example.org", "/dir/page", false, now);
}

TEST(Cookies, a_cookie_goes_back_to_the_host_that_set_it) {
  EXPECT_EQ(back("a=1"), "a=1");
  EXPECT_EQ(back(" a = 1 ; HttpOnly; SameSite=Lax"), "a=1");
  EXPECT_EQ(back("a=\"x y\""), "a=\"x y\"");
  EXPECT_EQ(back("a="), "a=");
  EXPECT_EQ(back("a=b=c"), "a=b=c");
}

TEST(Cookies, what_is_none_is_ignored) {
  for (const char* text : {"", "a", "=1", " =1", ";a=1", "a;b=1"}) EXPECT_EQ(back(text), "") << text;
  EXPECT_EQ(back("a=" + std::string(CookieJar::kMaxCookieBytes - 2, 'x')).size(), CookieJar::kMaxCookieBytes);
  EXPECT_EQ(back("a=" + std::string(CookieJar::kMaxCookieBytes - 1, 'x')), "");
}

TEST(Cookies, control_characters_are_never_sent) {
  EXPECT_EQ(back("a=x\x01y"), "");
  EXPECT_EQ(back("a\x1b=1"), "");
  EXPECT_EQ(back("a=\x7f"), "");
  EXPECT_EQ(back("a=\xc3\xa9"), "a=\xc3\xa9");
  EXPECT_EQ(back("a=b\tc"), "a=b\tc");
}

struct CookiesInJar : testing::Test {
  CookieJar jar;
};

TEST_F(CookiesInJar, without_a_domain_only_the_very_host_gets_it) {
  jar.store("a=1", "example.org", "/", kNow);
  EXPECT_EQ(sent(jar, "EXAMPLE.org", "/"), "a=1");
  EXPECT_EQ(sent(jar, "www.example.org", "/"), "");
  EXPECT_EQ(sent(jar, "example.com", "/"), "");
}

TEST(Cookies, a_domain_widens_to_the_hosts_below_it) {
  for (const char* text : {"a=1; Domain=example.org", "a=1; domain=.EXAMPLE.org"}) {
    CookieJar jar;
    jar.store(text, "www.example.org", "/", kNow);
    EXPECT_EQ(sent(jar, "example.org", "/"), "a=1");
    EXPECT_EQ(sent(jar, "x.y.example.org", "/"), "a=1");
    EXPECT_EQ(sent(jar, "badexample.org", "/"), "");
  }
}

TEST(Cookies, a_host_sets_none_for_others) {
  for (const char* domain : {"other.org", "www.example.org", "org", ".org", "ample.org", "example.org.evil"}) {
    EXPECT_EQ(back(std::string("a=1; Domain=") + domain), "") << domain;
  }
  CookieJar jar;
  jar.store("a=1; Domain=0.0.1", "127.0.0.1", "/", kNow);
  EXPECT_TRUE(jar.empty());
  jar.store("a=1; Domain=127.0.0.1", "127.0.0.1", "/", kNow);
  EXPECT_EQ(sent(jar, "127.0.0.1", "/"), "a=1");
  jar.store("b=2; Domain=localhost", "localhost", "/", kNow);
  EXPECT_EQ(sent(jar, "localhost", "/"), "b=2");
}

TEST_F(CookiesInJar, the_default_path_is_the_folder_of_the_request) {
  jar.store("a=1", "h", "/dir/page?x=/y/z", kNow);
  EXPECT_EQ(sent(jar, "h", "/dir"), "a=1");
  EXPECT_EQ(sent(jar, "h", "/dir/other?q"), "a=1");
  EXPECT_EQ(sent(jar, "h", "/dirt"), "");
  EXPECT_EQ(sent(jar, "h", "/"), "");
}

TEST_F(CookiesInJar, a_path_limits_where_it_is_sent) {
  jar.store("a=1; Path=/x", "h", "/", kNow);
  jar.store("b=2; Path=/x/", "h", "/", kNow);
  jar.store("c=3; Path=nonsense", "h", "/", kNow);
  EXPECT_EQ(sent(jar, "h", "/x"), "a=1; c=3");
  EXPECT_EQ(sent(jar, "h", "/x/y"), "b=2; a=1; c=3");
  EXPECT_EQ(sent(jar, "h", "/xy"), "c=3");
}

TEST(Cookies, an_overlong_attribute_is_ignored) { EXPECT_EQ(back("a=1; Path=/" + std::string(2000, 'x')), "a=1"); }

TEST_F(CookiesInJar, secure_ones_need_tls) {
  jar.store("a=1; Secure", "h", "/", kNow);
  EXPECT_EQ(sent(jar, "h", "/", false), "");
  EXPECT_EQ(sent(jar, "h", "/", true), "a=1");
}

TEST(Cookies, max_age_counts_and_wins_over_expires) {
  EXPECT_EQ(back("a=1; Max-Age=10", after(9)), "a=1");
  EXPECT_EQ(back("a=1; Max-Age=10", after(10)), "");
  EXPECT_EQ(back("a=1; Max-Age=0"), "");
  EXPECT_EQ(back("a=1; Max-Age=-5"), "");
  EXPECT_EQ(back("a=1; Max-Age=soon", after(1'000'000)), "a=1");
  EXPECT_EQ(back("a=1; Max-Age=100; Expires=Thu, 01 Jan 1970 00:00:00 GMT"), "a=1");
  EXPECT_EQ(back("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=100"), "a=1");
  EXPECT_EQ(back("a=1; Max-Age=9223372036854775807", after(399 * 86400)), "a=1");
  EXPECT_EQ(back("a=1; Max-Age=9223372036854775807", after(400 * 86400)), "");
}

TEST(Cookies, dates_are_read_in_all_their_forms) {
  for (const char* date : {"Tue, 14 Nov 2023 22:13:30 GMT", "Tuesday, 14-Nov-23 22:13:30 GMT",
                           "Tue Nov 14 22:13:30 2023", "14 NOVEMBER 2023 22:13:30"}) {
    const std::string text = std::string("a=1; Expires=") + date;
    EXPECT_EQ(back(text, after(9)), "a=1") << date;
    EXPECT_EQ(back(text, after(10)), "") << date;
  }
}

TEST(Cookies, dates_of_any_past_delete) {
  for (const char* date : {"Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 01 Jan 1601 00:00:00 GMT",
                           "Mon, 01 Jan 1900 00:00:00 GMT", "Tue, 14 Nov 2023 22:13:20 GMT"}) {
    EXPECT_EQ(back(std::string("a=1; Expires=") + date), "") << date;
  }
}

TEST(Cookies, the_parts_of_a_date_may_be_strange) {
  for (const char* date : {"14 Nov 2023 22:13:30GMT", "14th November 2023 22:13:30", "22:13:30 2023 nov 14",
                           "Tue/14[Nov@2023{22:13:30}", "14 Nov 23 22:13:30 +0100", "14 Nov 2023AD 22:13:30",
                           "14 Nov 1 2023 22:13:30", "2 14 Nov 2023 22:13:30 Dec 13 1999 01:01:01"}) {
    const bool second_day = std::string_view(date).starts_with("2 14");
    const std::string text = std::string("a=1; Expires=") + date;
    EXPECT_EQ(back(text, after(9)), second_day ? "" : "a=1") << date;
    EXPECT_EQ(back(text, after(10)), "") << date;
  }
}

TEST(Cookies, a_day_that_no_month_has_is_no_date) {
  for (const char* date :
       {"30 Feb 2000 00:00:00", "29 Feb 2001 00:00:00", "31 Apr 2000 00:00:00", "0 Nov 2000 00:00:00",
        "14 Nov 2000 00:00:60", "14 Nov 20000 00:00:00", "014 Nov 2000 00:00:00", "14 Nov 2000 000:00:00"}) {
    EXPECT_EQ(back(std::string("a=1; Expires=") + date), "a=1") << date;
  }
  EXPECT_EQ(back("a=1; Expires=29 Feb 2000 00:00:00"), "");
  EXPECT_EQ(back("a=1; Expires=31 Dec 2000 00:00:00"), "");
}

TEST_F(CookiesInJar, of_an_attribute_given_twice_the_last_one_counts) {
  jar.store("a=1; Path=/x; Path=/y", "h", "/", kNow);
  EXPECT_EQ(sent(jar, "h", "/x"), "");
  EXPECT_EQ(sent(jar, "h", "/y"), "a=1");
  jar.store("b=1; Path=/x; Path=y", "h", "/d/page", kNow);  // no path: that of the request
  EXPECT_EQ(sent(jar, "h", "/x"), "");
  EXPECT_EQ(sent(jar, "h", "/d"), "b=1");
  jar.store("c=1; Path=/x; Path", "h", "/e/page", kNow);
  EXPECT_EQ(sent(jar, "h", "/e"), "c=1");

  jar.clear();
  jar.store("a=1; Domain=other.org; Domain=example.org", "www.example.org", "/", kNow);
  EXPECT_EQ(sent(jar, "example.org", "/"), "a=1");
  jar.store("b=1; Domain=example.org; Domain=other.org", "www.example.org", "/", kNow);
  EXPECT_EQ(sent(jar, "www.example.org", "/"), "a=1");
  jar.store("c=1; Domain=example.org; Domain=www.example.org", "www.example.org", "/", kNow);
  EXPECT_EQ(sent(jar, "example.org", "/"), "a=1");
  jar.store("d=1; Domain=example.org; Domain=", "www.example.org", "/", kNow);  // an empty one is ignored
  EXPECT_EQ(sent(jar, "example.org", "/"), "a=1; d=1");
}

TEST(Cookies, of_times_given_twice_the_last_that_can_be_read_counts) {
  EXPECT_EQ(back("a=1; Max-Age=0; Max-Age=10"), "a=1");
  EXPECT_EQ(back("a=1; Max-Age=10; Max-Age=0"), "");
  EXPECT_EQ(back("a=1; Max-Age=0; Max-Age=soon"), "");
  EXPECT_EQ(back("a=1; Expires=1 Jan 1970 00:00:00; Expires=1 Jan 2024 00:00:00"), "a=1");
  EXPECT_EQ(back("a=1; Expires=1 Jan 2024 00:00:00; Expires=1 Jan 1970 00:00:00"), "");
  EXPECT_EQ(back("a=1; Expires=1 Jan 1970 00:00:00; Expires=never"), "");
}

TEST(Cookies, an_age_may_have_any_number_of_digits) {
  const std::string long_age = "a=1; Max-Age=99999999999999999999999999";
  EXPECT_EQ(back(long_age, after(399 * 86400)), "a=1");
  EXPECT_EQ(back(long_age, after(400 * 86400)), "");
  EXPECT_EQ(back("a=1; Max-Age=-99999999999999999999999999"), "");
  EXPECT_EQ(back("a=1; Max-Age=-"), "a=1");
  EXPECT_EQ(back("a=1; Max-Age=+5", after(10)), "a=1");
}

TEST_F(CookiesInJar, the_pairs_of_a_request_come_first_and_win) {
  jar.store("a=1", "h", "/", kNow);
  jar.store("b=2", "h", "/", kNow);
  const auto with = [&](std::string_view own) {
    std::string out;
    jar.append_header("h", "/", false, kNow, out, own);
    return out;
  };
  EXPECT_EQ(with("c=3"), "c=3; a=1; b=2");
  EXPECT_EQ(with("x=0;b=9"), "x=0;b=9; a=1");
  EXPECT_EQ(with("b=9; a=8"), "b=9; a=8");
  EXPECT_EQ(with("B=9"), "B=9; a=1; b=2");
  jar.clear();
  EXPECT_EQ(with("c=3"), "c=3");
}

TEST(Cookies, pairs_that_a_response_sets_are_taken_from_a_field) {
  ResponseHead head;
  head.field_count = 2;
  head.fields[0] = {"Set-Cookie", " a = 1; Path=/"};
  head.fields[1] = {"X", "b=2"};
  EXPECT_EQ(without_cookies_of("a=0; b=1;c=2", head), "b=1; c=2");
  EXPECT_EQ(without_cookies_of("a=0", head), "");
}

TEST_F(CookiesInJar, expired_ones_make_room_first) {
  jar.store("old=1", "h", "/", kNow);
  jar.store("gone=1; Max-Age=5", "h", "/", kNow);
  for (std::size_t i = 2; i <= CookieJar::kMaxCookies; ++i) {
    jar.store("c" + std::to_string(i) + "=1", "h", "/", after(10));
  }
  EXPECT_TRUE(sent(jar, "h", "/", false, after(10)).starts_with("old=1; c2=1"));
}

TEST(Cookies, what_is_no_date_is_ignored) {
  for (const char* date : {"", "never", "32 Nov 2000 00:00:00", "14 Nov 1600 00:00:00", "14 Nov 2000 24:00:00",
                           "14 Nov 2000 00:60:00", "14 Nov 2000", "14 Foo 2000 00:00:00", "14 Nov 2000 0:0"}) {
    EXPECT_EQ(back(std::string("a=1; Expires=") + date), "a=1") << date;
  }
}

TEST_F(CookiesInJar, the_same_name_domain_and_path_is_replaced_and_an_expired_one_removed) {
  jar.store("a=1", "h", "/", kNow);
  jar.store("b=2", "h", "/", kNow);
  jar.store("a=3", "h", "/", kNow);
  EXPECT_EQ(sent(jar, "h", "/"), "a=3; b=2");
  jar.store("a=; Max-Age=0", "h", "/", kNow);
  EXPECT_EQ(sent(jar, "h", "/"), "b=2");
  jar.store("b=; Max-Age=0", "h", "/", kNow);
  EXPECT_TRUE(jar.empty());
}

TEST_F(CookiesInJar, clear_forgets_all) {
  jar.store("a=1", "h", "/", kNow);
  EXPECT_FALSE(jar.empty());
  jar.clear();
  EXPECT_TRUE(jar.empty());
  EXPECT_EQ(sent(jar, "h", "/"), "");
}

TEST_F(CookiesInJar, the_oldest_makes_room) {
  for (std::size_t i = 0; i <= CookieJar::kMaxCookies; ++i) jar.store("c" + std::to_string(i) + "=1", "h", "/", kNow);
  const std::string all = sent(jar, "h", "/");
  EXPECT_EQ(all.find("c0=1"), std::string::npos);
  EXPECT_NE(all.find("c1=1"), std::string::npos);
  EXPECT_NE(all.find("c300=1"), std::string::npos);
}

TEST(Cookies, every_set_cookie_of_a_response_counts) {
  ResponseHead head;
  head.field_count = 3;
  head.fields[0] = {"Set-Cookie", "a=1"};
  head.fields[1] = {"X", "c=3"};
  head.fields[2] = {"SET-COOKIE", "b=2"};
  CookieJar jar;
  jar.store_all(head, "h", "/", kNow);
  EXPECT_EQ(sent(jar, "h", "/"), "a=1; b=2");
}

RC_GTEST_PROP(Cookies, whatever_is_set_nothing_that_ends_a_field_is_sent, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('a', '=', ';', ' ', '\t', '\r', '\n', '\0', ',', '-', '1', '9', '/'));
  const std::string header = back(text);
  RC_ASSERT(header.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
}

}  // namespace
}  // namespace bellwether::http1
