// The rights to read and act through the web page of the leases. A browser sends requests of any page that its user has
// open, so a request alone proves nothing. Pure.
//
//   - The Host must be a name that the page is served under: a foreign name that resolves to this machine (DNS
//     rebinding) is refused.
//   - Requests that act come by POST, from the page itself: an Origin must be the page, and the form carries a secret
//     that only the page knows.
//   - With an operator's secret, every request carries it: as `Authorization: Bearer SECRET`, or as the password of
//     basic authentication, which browsers ask for. A program with the bearer form needs no form secret.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/web/http_server.h"

namespace bellwether::web {

struct GuardRules {
  std::vector<std::string> hosts;  // "127.0.0.1:8461", in lower case; empty: any, which needs `bearer`
  std::string form_secret;         // drawn at the start
  std::string bearer;              // empty: not required
};

class RequestGuard {
 public:
  explicit RequestGuard(GuardRules rules) : rules_(std::move(rules)) {}

  // The answer to a request that may not be read, or nothing.
  std::optional<Answer> against_reading(const Request& request) const;
  // The same for a request that acts; `form_secret`: from its form.
  std::optional<Answer> against_acting(const Request& request, const std::string& form_secret) const;
  const std::string& form_secret() const { return rules_.form_secret; }

 private:
  GuardRules rules_;
};

// Takes equal time for every first difference.
bool same_secret(const std::string& a, const std::string& b);

// The names that a page on `at` may be asked for under: of the loopback all its names, and `more`, each with the port,
// or without one where a browser says none.
std::vector<std::string> names_of_page(const runtime::Endpoint& at, const std::vector<std::string>& more);
bool is_loopback(const runtime::IpAddress& address);

}  // namespace bellwether::web
