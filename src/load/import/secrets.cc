// Passwords, tokens and cookies of requests become names of `env`.
#include <algorithm>
#include <array>
#include <map>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/yaml/section.h"
#include "load/import/request.h"

namespace bellwether::imports {
namespace {

// Of a name without its separators, in lower case.
constexpr std::array<std::string_view, 10> kSecretParts{"password",   "passwd",     "passphrase", "secret",    "apikey",
                                                        "credential", "privatekey", "accesskey",  "sessionid", "token"};
constexpr std::array<std::string_view, 8> kSecretNames{"authorization", "cookie", "pass",    "pwd",
                                                       "pin",           "otp",    "session", "jwt"};
// Counts of tokens, and kinds of tokens, are none.
constexpr std::array<std::string_view, 3> kNoSecretParts{"tokens", "tokentype", "tokencount"};

class SecretHider {
 public:
  SecretHider(Draft& draft, bool keep) : draft_(draft), keep_(keep) {}

  // Puts a name in the place of the value, the same for the same value. `what`: "the header Cookie".
  void hide(std::string& value, const std::string& wanted, const std::string& what) {
    const auto written = plain(value);
    if (!written || written->empty()) return;
    const auto known = names_.find({wanted, value});
    std::string name = known == names_.end() ? free_name(wanted) : known->second;
    if (known == names_.end()) {
      names_[{wanted, value}] = name;
      draft_.need(name, keep_ ? std::optional(value) : std::nullopt, fmt::format("{} of {}", what, step_));
    }
    value = fmt::format("${{{}}}", name);
  }

  void hide_in(Request& request) {
    step_ = request.name;
    own_ = &request.secrets;
    hide_in_url(request);
    if (request.auth) hide(request.auth->secret, request.auth->scheme == "bearer" ? "TOKEN" : "PASSWORD", "the login");
    hide_authorization(request);
    hide_in(request.headers, "the header");
    hide_in(request.query, "the query parameter");
    hide_in(request.body.form, "the form field");
    for (Part& part : request.body.parts) {
      if (!part.is_file) hide_in(part.field, "the form field");
    }
    if (request.body.kind == Body::Kind::kJson) hide_in(request.body.json);
    for (Field& option : request.options) {
      if (option.name != "proxy") continue;
      if (option.value.find('@') != std::string::npos) hide(option.value, "PROXY", "the proxy and its password");
      option.value = yaml::flow_text(option.value);
    }
  }

 private:
  std::string free_name(const std::string& wanted) const {
    const auto is_taken = [&](const std::string& name) {
      return std::any_of(draft_.variables.begin(), draft_.variables.end(),
                         [&](const Draft::Variable& one) { return one.name == name; });
    };
    std::string name = wanted;
    for (int number = 2; is_taken(name); ++number) name = fmt::format("{}_{}", wanted, number);
    return name;
  }

  void hide_in(Fields& fields, const char* what) {
    for (Field& field : fields) hide_in(field, what);
  }

  void hide_in(Field& field, const char* what) {
    const bool is_own = std::ranges::find(*own_, field.name) != own_->end();
    if (is_own || is_secret(field.name))
      hide(field.value, variable_name(field.name), fmt::format("{} {}", what, field.name));
  }

  void hide_in(Node& node) {
    for (Node& item : node.items) {
      hide_in(item);
      if (!item.is_scalar() || !is_secret(item.key)) continue;
      hide(item.text, variable_name(item.key), "the JSON member " + item.key);
      if (item.is_quoted || !item.text.starts_with("${")) continue;
      item.text = fmt::format("${{json({})}}", item.text.substr(2, item.text.size() - 3));  // stays a number
      item.is_quoted = true;
    }
  }

  // A query with a secret becomes a map, so that any value of the secret is escaped.
  static void hide_in_url(Request& request) {
    const std::size_t question = request.url.find('?');
    if (question == std::string::npos) return;
    auto fields = split_form(std::string_view(request.url).substr(question + 1));
    const auto holds = [](const Field& field) { return is_secret(field.name) && plain(field.value); };
    if (!fields || std::none_of(fields->begin(), fields->end(), holds)) return;
    request.url.resize(question);
    request.query.insert(request.query.begin(), fields->begin(), fields->end());
  }

  // The scheme stays visible, and so does the user of Basic.
  void hide_authorization(Request& request) {
    Field* const header = header_of(request, "authorization");
    if (header == nullptr || !plain(header->value)) return;
    const std::size_t space = header->value.find(' ');
    if (space == std::string::npos) return hide(header->value, "TOKEN", "the header Authorization");
    const std::string scheme = header->value.substr(0, space);
    std::string secret(trim(std::string_view(header->value).substr(space)));
    if (iequals(scheme, "basic") && !request.auth) {
      const std::string pair = bytes_of_base64(secret);
      const std::size_t colon = pair.find(':');
      if (colon != std::string::npos && is_utf8(pair)) {
        request.auth = Auth{"basic", literal(pair.substr(0, colon)), literal(pair.substr(colon + 1))};
        hide(request.auth->secret, "PASSWORD", "the login");
        std::erase_if(request.headers, [](const Field& one) { return iequals(one.name, "authorization"); });
        return;
      }
    }
    hide(secret, "TOKEN", "the header Authorization");
    header->value = fmt::format("{} {}", scheme, secret);
  }

  Draft& draft_;
  bool keep_;
  std::string step_;
  const std::vector<std::string>* own_ = nullptr;                     // Request::secrets
  std::map<std::pair<std::string, std::string>, std::string> names_;  // by the wanted name and the value
};

}  // namespace

bool is_secret(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    const char lower = ascii_lower(c);
    if (lower >= 'a' && lower <= 'z') letters += lower;
  }
  const auto has = [&](std::string_view part) { return letters.find(part) != std::string::npos; };
  if (std::any_of(kNoSecretParts.begin(), kNoSecretParts.end(), has)) return false;
  return std::any_of(kSecretParts.begin(), kSecretParts.end(), has) || letters.ends_with("authorization") ||
         std::find(kSecretNames.begin(), kSecretNames.end(), letters) != kSecretNames.end();
}

void hide_secrets(Draft& draft, bool keep) {
  SecretHider hider(draft, keep);
  for (Request& request : draft.requests) hider.hide_in(request);
}

}  // namespace bellwether::imports
