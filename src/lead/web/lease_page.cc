#include "lead/web/lease_page.h"

#include <nlohmann/json.hpp>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "election/store/disk/small_file.h"
#include "lead/lease_tools.h"

namespace bellwether::lead {
namespace {

using election::LeaseRecord;
using nlohmann::ordered_json;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --line: #d5d5d5; --dim: #666; --bad: #b00020; --good: #146c2e; }
@media (prefers-color-scheme: dark) { :root { --line: #444; --dim: #aaa; --bad: #ff8a80; --good: #7bd88f; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { color: var(--dim); font-weight: 600; white-space: nowrap; }
.dim { color: var(--dim); } .bad { color: var(--bad); } .good { color: var(--good); }
form { margin: .4rem 0; } input[type=text] { width: 10rem; }
@media (max-width: 45rem) { thead { display: none; } td { display: block; border: 0; padding: .1rem 0; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .6rem 0; }
  td[data-name]::before { content: attr(data-name) ": "; color: var(--dim); } }
)";

std::string cell(const char* name, const std::string& html, const char* type = "td") {
  return fmt::format("<{} data-name=\"{}\">{}</{}>", type, name, html, type);
}

// Names from outside do not turn the text around them (bidirectional controls).
std::string apart(std::string_view text) { return fmt::format("<bdi>{}</bdi>", html_text(text)); }

std::string hidden(const char* name, std::string_view value) {
  return fmt::format("<input type=\"hidden\" name=\"{}\" value=\"{}\">", name, html_text(value));
}

std::string form(const LeasePage& page, const PageLease& lease, const char* act, const std::string& inner) {
  return fmt::format("<form method=\"post\" action=\"/act\">{}{}{}{}{}{}</form>", hidden("secret", page.form_secret),
                     hidden("act", act), hidden("key", store::percent_encoded(lease.key)),
                     hidden("epoch", std::to_string(lease.seen.record.epoch.value())), hidden("prefix", page.prefix),
                     inner);
}

// An operator's acts on a held key.
std::string actions(const LeasePage& page, const PageLease& lease) {
  if (page.read_only || !lease.seen.record.held()) return "";
  const std::string by = "<label>you: <input type=\"text\" name=\"by\" maxlength=\"100\" required></label> ";
  std::string out = "<details><summary>change</summary>";
  if (!lease.seen.foreign) {
    out += form(page, lease, "transfer",
                by + "<label>to: <input type=\"text\" name=\"to\" maxlength=\"200\" required></label> "
                     "<button>Transfer</button>");
    out += form(page, lease, "release", by + "<button>Release</button>");
  }
  out += form(page, lease, "steal",
              by + "<label>for (or anybody): <input type=\"text\" name=\"to\" maxlength=\"200\"></label> "
                   "<label><input type=\"checkbox\" name=\"confirm\" value=\"yes\" required> the holder may act until "
                   "it notices; only fences stop it</label> <button>Steal</button>");
  return out + "</details>";
}

std::string row(const LeasePage& page, const PageLease& lease) {
  const LeaseRecord& record = lease.seen.record;
  const bool bad = (!lease.seen.present && !lease.seen.evidence.empty()) || lease.seen.may_have_lost_data ||
                   lease.seen.sight == election::HolderSight::kDead;
  std::string status = html_text(status_of(lease.seen));
  if (bad) status = fmt::format("<span class=\"bad\">{}</span>", status);
  if (lease.seen.present && !lease.seen.evidence.empty() && lease.seen.sight != election::HolderSight::kDead) {
    status += fmt::format("<br><span class=\"dim\">{}</span>", html_text(lease.seen.evidence));
  }
  const std::string next = record.heir == election::kAnybody ? "anybody" : apart(record.heir);
  std::string change = apart(record.cause);
  if (record.acquired_at.unix_ns != 0 && record.held()) {
    change += fmt::format(" <span class=\"dim\">{}</span>", html_text(ago(record.acquired_at, page.now)));
  }
  return fmt::format("<tr>{}{}{}{}{}{}{}</tr>\n", cell("key", apart(lease.key)),
                     cell("holder", record.held() ? apart(record.holder) : "<span class=\"dim\">nobody</span>"),
                     cell("epoch", std::to_string(record.epoch.value())),
                     cell("valid for", html_text(left_text(lease.seen, page.now))), cell("next", next),
                     cell("last change", change), cell("status", status + actions(page, lease)));
}

std::string table_of(const LeasePage& page) {
  if (!page.trouble.empty()) {
    return fmt::format("<p class=\"bad\">The leases cannot be read: {}</p>\n", html_text(page.trouble));
  }
  if (page.leases.empty()) return "<p>No keys.</p>\n";
  std::string out = "<table><thead><tr>";
  for (const char* head : {"key", "holder", "epoch", "valid for", "next", "last change", "status"}) {
    out += fmt::format("<th>{}</th>", head);
  }
  out += "</tr></thead><tbody>\n";
  for (const PageLease& lease : page.leases) out += row(page, lease);
  out += "</tbody></table>\n";
  if (page.more) out += "<p class=\"dim\">There are more; a prefix shows others.</p>\n";
  return out;
}

std::string acts_of(const LeasePage& page) {
  if (page.acts.empty()) return "";
  std::string out = "<h2>Asked for here</h2>\n<table><tbody>\n";
  for (const PageAct& act : page.acts) {
    out += fmt::format("<tr>{}{}{}{}</tr>\n", cell("at", html_text(format_wall(act.at))), cell("by", apart(act.who)),
                       cell("asked", apart(act.asked)),
                       cell("outcome", fmt::format("<span class=\"{}\">{}</span>", act.done ? "good" : "bad",
                                                   html_text(act.outcome))));
  }
  return out + "</tbody></table>\n";
}

ordered_json to_json(const PageLease& lease, WallTime now) {
  const LeaseRecord& record = lease.seen.record;
  return {{"key", lease.key},
          {"key_id", store::percent_encoded(lease.key)},
          {"held", record.held()},
          {"holder", record.holder},
          {"epoch", record.epoch.value()},
          {"lease_ms", record.lease.ms()},
          {"left_ms", record.held() ? left_of(lease.seen, now).ms() : 0},
          {"acquired_unix_ms", record.acquired_at.unix_ns / 1'000'000},
          {"renewed_unix_ms", record.renewed_at.unix_ns / 1'000'000},
          {"next", record.heir},
          {"cause", record.cause},
          {"region", record.region},
          {"foreign", lease.seen.foreign},
          {"holder_dead", lease.seen.sight == election::HolderSight::kDead},
          {"may_have_lost_data", lease.seen.may_have_lost_data},
          {"evidence", lease.seen.evidence},
          {"status", status_of(lease.seen)}};
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : label_text(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n': out += "\\x0a"; break;
      default: out += c;
    }
  }
  return out;
}

std::string content_policy(const std::string& style_nonce) {
  return fmt::format(
      "default-src 'none'; style-src 'nonce-{}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      style_nonce);
}

std::string html_of(const LeasePage& page) {
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Leases</title>\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  if (page.refresh_s > 0) {
    out += fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", page.refresh_s);
  }
  out += fmt::format("<style nonce=\"{}\">{}</style></head><body>\n", html_text(page.style_nonce), kStyle);
  out += fmt::format("<h1>Leases in {}</h1>\n", apart(page.store));
  out += fmt::format(
      "<form method=\"get\" action=\"/\"><label>prefix: <input type=\"text\" name=\"prefix\" value=\"{}\"></label> "
      "<label>every <input type=\"number\" name=\"refresh\" min=\"0\" max=\"3600\" value=\"{}\"> s (0: not)</label> "
      "<button>Show</button></form>\n",
      html_text(page.prefix), page.refresh_s);
  out += table_of(page) + acts_of(page);
  out += fmt::format(
      "<p class=\"dim\">{}; <i>valid for</i> counts by the wall clocks of two machines where the store does not "
      "tell.</p>\n",
      html_text(format_wall(page.now)));
  return out + "</body></html>\n";
}

std::string json_of(const LeasePage& page) {
  ordered_json out{{"format", "bellwether.leases/1"}, {"store", page.store}, {"more", page.more}};
  if (!page.trouble.empty()) out["error"] = page.trouble;
  out["leases"] = ordered_json::array();
  for (const PageLease& lease : page.leases) out["leases"].push_back(to_json(lease, page.now));
  out["acts"] = ordered_json::array();
  for (const PageAct& act : page.acts) {
    out["acts"].push_back({{"at", format_wall(act.at)},
                           {"by", act.who},
                           {"asked", act.asked},
                           {"outcome", act.outcome},
                           {"done", act.done}});
  }
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace bellwether::lead
