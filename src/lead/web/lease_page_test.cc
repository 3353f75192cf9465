#include <gmock/gmock.h>

#include "lead/web/lease_web.h"

namespace bellwether::lead {
namespace {

using testing::HasSubstr;
using testing::Not;

LeasePage page() {
  LeasePage page{.store = "flock:/x", .prefix = "a&", .form_secret = "f0f0", .style_nonce = "n1"};
  PageLease lease{.key = "orders", .seen = {}};
  lease.seen.present = true;
  lease.seen.record.holder = "node-1";
  lease.seen.record.epoch = election::Epoch(7);
  lease.seen.record.lease = Duration::seconds(15);
  lease.seen.record.cause = "took over from node-2";
  lease.seen.left = Duration::millis(1500);
  page.leases.push_back(lease);
  return page;
}

TEST(HtmlText, any_bytes_are_only_text) {
  EXPECT_EQ(html_text("<a href=\"x\" onclick='y'>&"), "&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(html_text(std::string_view("\0\n\xff\xc3\xa4", 5)), "\\x00\\x0a\\xff\xc3\xa4");
}

TEST(LeasePage, shows_holder_epoch_time_and_cause) {
  const std::string html = html_of(page());
  for (const char* word : {"orders", "node-1", ">7<", "1.50s", "took over from node-2", "flock:/x"}) {
    EXPECT_THAT(html, HasSubstr(word));
  }
}

TEST(LeasePage, whatever_the_store_holds_makes_no_markup) {
  LeasePage evil = page();
  const std::string text = "<script>alert(1)</script>\"'>\xff";
  evil.leases[0].key = text;
  evil.leases[0].seen.record.holder = text;
  evil.leases[0].seen.record.cause = text;
  evil.leases[0].seen.record.heir = text;
  evil.leases[0].seen.evidence = text;
  evil.acts.push_back({.who = text, .asked = text, .outcome = text});
  evil.prefix = text;
  evil.store = text;
  const std::string html = html_of(evil);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("\xff")));
  evil.trouble = text;
  EXPECT_THAT(html_of(evil), Not(HasSubstr("<script")));
  EXPECT_THAT(json_of(evil), HasSubstr("%ff"));
}

TEST(LeasePage, each_form_carries_the_secret_and_the_epoch_that_was_seen) {
  const std::string html = html_of(page());
  for (const char* act : {"transfer", "release", "steal"}) {
    EXPECT_THAT(
        html,
        HasSubstr(std::string("name=\"secret\" value=\"f0f0\"><input type=\"hidden\" name=\"act\" value=\"") + act +
                  "\"><input type=\"hidden\" name=\"key\" value=\"orders\"><input type=\"hidden\" "
                  "name=\"epoch\" value=\"7\">"));
  }
}

TEST(LeasePage, has_nothing_to_press_where_nothing_can_be_done) {
  LeasePage only_read = page();
  only_read.read_only = true;
  EXPECT_THAT(html_of(only_read), Not(HasSubstr("method=\"post\"")));
  LeasePage free = page();
  free.leases[0].seen.record.holder.clear();
  EXPECT_THAT(html_of(free), Not(HasSubstr("method=\"post\"")));
  LeasePage foreign = page();
  foreign.leases[0].seen.foreign = true;
  EXPECT_THAT(html_of(foreign), HasSubstr("value=\"steal\""));
  EXPECT_THAT(html_of(foreign), Not(HasSubstr("value=\"transfer\""))) << "it cannot be asked";
}

TEST(LeasePage, a_key_that_cannot_be_read_is_shown_with_the_reason) {
  LeasePage damaged = page();
  damaged.leases[0].seen = {};
  damaged.leases[0].seen.evidence = "its ledger is damaged";
  EXPECT_THAT(html_of(damaged), HasSubstr("unknown: its ledger is damaged"));
}

TEST(LeasePage, needs_nothing_from_elsewhere) {
  const std::string html = html_of(page());
  for (const char* word : {"http:", "https:", "src=", "<script", "url(", "@import"}) {
    EXPECT_THAT(html, Not(HasSubstr(word)));
  }
  EXPECT_THAT(content_policy("n1"), HasSubstr("default-src 'none'; style-src 'nonce-n1'"));
}

}  // namespace
}  // namespace bellwether::lead
