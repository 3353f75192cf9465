// Passwords, tokens and cookies of requests become names of `env`.
#include <algorithm>
#include <array>
#include <map>
#include <re2/re2.h>

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

// A name in a text and all that leads to its value, in two forms: password=, "token": or user%5Bpass%5D=; <secret>.
// Groups: what stands before the name, the name, the separator.
const re2::RE2& pair_form() {
  static const re2::RE2 form(R"re((?i)([$%]?)([\w-]+)(?:[\]"'\\]|%5D|%22)*[ \t]*([:=]|%3A|%3D)[ \t]*)re");
  return form;
}
const re2::RE2& tag_form() {
  static const re2::RE2 form(R"re(()<(?:[\w-]+:)?([\w-]+)(?:\s[^<>]*)?(>)\s*)re");
  return form;
}

// The value with which `text` begins, behind its separator: up to its closing quote, which may be escaped, or up to one
// of `stops`.
std::string_view value_at(std::string_view text, std::string_view stops) {
  const std::size_t slashes = std::min(text.find_first_not_of('\\'), text.size());
  for (const std::string_view open : {"%22", "\"", "'"}) {
    if (!text.substr(slashes).starts_with(open)) continue;
    const std::string_view quote = text.substr(0, slashes + open.size());
    std::size_t end = text.find(quote, quote.size());
    while (quote.size() == 1 && end != std::string_view::npos && text[end - 1] == '\\') end = text.find(quote, end + 1);
    return text.substr(quote.size(), std::min(end, text.size()) - quote.size());
  }
  if (text.starts_with('[')) return text.substr(1, std::min(text.find(']'), text.size()) - 1);
  if (text.starts_with('{')) return {};
  return trim(text.substr(0, text.find_first_of(stops)));
}

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
    for (Field& field : request.headers) hide_in(field, "the header");
    for (Field& field : request.query) hide_in(field, "the query parameter");
    for (Field& field : request.body.form) hide_in_form(field);
    for (Part& part : request.body.parts) {
      if (!part.is_file) hide_in_form(part.field);
    }
    if (request.body.kind == Body::Kind::kJson) hide_in(request.body.json, "");
    if (request.body.kind == Body::Kind::kText) hide_in_text(request.body.text);
    for (Field& option : request.options) {
      if (option.name != "proxy") continue;
      if (option.value.find('@') != std::string::npos) hide(option.value, "PROXY", "the proxy and its password");
      option.value = yaml::flow_text(option.value);
    }
  }

 private:
  std::string free_name(const std::string& wanted) const {
    const auto is_taken = [&](const std::string& name) {
      return std::ranges::any_of(draft_.variables, [&](const Draft::Variable& one) { return one.name == name; });
    };
    std::string name = wanted;
    for (int number = 2; is_taken(name); ++number) name = fmt::format("{}_{}", wanted, number);
    return name;
  }

  // Whether its name says that it is a secret.
  bool hide_in(Field& field, const char* what) {
    if (std::ranges::find(*own_, field.name) == own_->end() && !is_secret(field.name)) return false;
    hide(field.value, variable_name(field.name), fmt::format("{} {}", what, field.name));
    return true;
  }

  void hide_in_form(Field& field) {
    if (!hide_in(field, "the form field")) hide_in_text(field.value);
  }

  // `name`: the key of the node, or of the list that holds it.
  void hide_in(Node& node, const std::string& name) {
    if (node.is_scalar()) return hide_scalar(node, name);
    // {"name": "password", "value": "…"}
    const std::string label(text_at(&node, "name"));
    for (Node& item : node.items) {
      const bool is_labelled = item.key == "value" && is_secret(label);
      hide_in(item, is_labelled ? label : node.is_map() ? item.key : name);
    }
  }

  void hide_scalar(Node& item, const std::string& name) {
    if (!is_secret(name)) {
      if (item.is_quoted) hide_in_text(item.text);
      return;
    }
    hide(item.text, variable_name(name), "the JSON member " + name);
    if (item.is_quoted || !item.text.starts_with("${")) return;
    item.text = fmt::format("${{json({})}}", item.text.substr(2, item.text.size() - 3));  // stays a number
    item.is_quoted = true;
  }

  // The values behind names of secrets.
  void hide_in_text(std::string& text) {
    for (const re2::RE2* form : {&tag_form(), &pair_form()}) {
      std::string out;
      std::size_t done = 0;
      re2::StringPiece rest(text);
      re2::StringPiece before;
      re2::StringPiece name;
      re2::StringPiece separator;
      while (re2::RE2::FindAndConsume(&rest, *form, &before, &name, &separator)) {
        std::string_view key(name.data(), name.size());
        if (before == "%") key.remove_prefix(std::min<std::size_t>(2, key.size()));  // of an escape
        if (before == "$" || !is_secret(key)) continue;
        const bool is_colon = separator == ":" || iequals({separator.data(), separator.size()}, "%3A");
        const bool has_braces = text.find('{') != std::string::npos;
        const std::string_view value = value_at({rest.data(), rest.size()}, separator == ">" ? "<"
                                                                            : !is_colon      ? "&\"<\r\n"
                                                                            : has_braces     ? ",&\r\n})]"
                                                                                             : "\r\n");
        // A variable of GraphQL is no value: login(password: $password).
        const bool is_variable = is_colon && has_braces && value.starts_with('$') && !value.starts_with("${");
        if (value.empty() || is_variable) continue;
        std::string hidden(value);
        hide(hidden, variable_name(key), fmt::format("{} in the body", key));
        const auto begin = static_cast<std::size_t>(value.data() - text.data());
        out.append(text, done, begin - done).append(hidden);
        done = begin + value.size();
        rest = re2::StringPiece(text.data() + done, text.size() - done);
      }
      if (done > 0) text = out.append(text, done);
    }
  }

  // A query with a secret becomes a map, so that any value of the secret is escaped.
  static void hide_in_url(Request& request) {
    const std::size_t question = request.url.find('?');
    if (question == std::string::npos) return;
    auto fields = split_form(std::string_view(request.url).substr(question + 1));
    const auto holds = [](const Field& field) { return is_secret(field.name) && plain(field.value); };
    if (!fields || std::ranges::none_of(*fields, holds)) return;
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
    if (is_letter(c)) letters += ascii_lower(c);
  }
  const auto has = [&](std::string_view part) { return letters.find(part) != std::string::npos; };
  if (std::ranges::any_of(kNoSecretParts, has)) return false;
  return std::ranges::any_of(kSecretParts, has) || letters.ends_with("authorization") ||
         std::find(kSecretNames.begin(), kSecretNames.end(), letters) != kSecretNames.end();
}

void hide_secrets(Draft& draft, bool keep) {
  SecretHider hider(draft, keep);
  for (Request& request : draft.requests) hider.hide_in(request);
}

}  // namespace bellwether::imports
