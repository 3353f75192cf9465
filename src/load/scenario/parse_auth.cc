// The credentials of requests.
#include "load/scenario/names.h"
#include "load/scenario/parse.h"

namespace bellwether::scenario {
namespace {

// {token_url: …, client_id: …, client_secret: …}, all constants: a token is asked for before any iteration begins.
std::optional<OAuth2> parse_oauth2(const Node& node, const Section& auth) {
  const Section section(node, "'oauth2' of " + auth.where(), auth.reading(), maps::kOAuth2);
  if (!node.is_map()) return std::nullopt;
  OAuth2 out;
  bool whole = true;
  const auto take = [&](std::string_view key, Text& into) {
    if (section.find(key) == nullptr) {
      section.report_missing(in_quotes(key) + " is missing in " + section.where(),
                             "{token_url: URL, client_id: NAME, client_secret: SECRET}");
    }
    auto text = section.constant(key);
    whole = whole && text.has_value();
    if (text) into = std::move(*text);
  };
  take("token_url", out.token_url);
  take("client_id", out.client_id);
  take("client_secret", out.client_secret);
  out.scope = section.constant("scope");
  out.audience = section.constant("audience");
  out.in_body = section.choice("auth_style").value_or(0) == 1;
  return whole ? std::optional(out) : std::nullopt;
}

}  // namespace

// {basic: {user: …, password: …}}, the same with digest, {bearer: TOKEN}, or {oauth2: {…}}.
std::optional<Auth> parse_auth(const Section& http) {
  const Names schemes = maps::kAuth.exactly_one;
  const Node* node = http.find("auth");
  if (node == nullptr) return std::nullopt;
  Reading& reading = http.reading();
  const Section section(*node, "'auth' of " + http.where(), reading, maps::kAuth);
  if (!node->is_map()) return std::nullopt;
  Auth auth{.mark = node->place(), .is_digest = false, .bearer = {}, .user = {}, .password = {}, .oauth2 = {}};
  const Node* basic = section.find("basic");
  const Node* digest = section.find("digest");
  const Node* bearer = section.find("bearer");
  const Node* oauth2 = section.find("oauth2");
  if ((basic != nullptr) + (digest != nullptr) + (bearer != nullptr) + (oauth2 != nullptr) > 1) {
    const Node* last = oauth2 != nullptr ? oauth2 : bearer != nullptr ? bearer : digest;
    reading.diagnostics.add(last->place(),
                            {.message = section.where() + " has more than one scheme", .expected = one_of(schemes)});
    return std::nullopt;
  }
  if (bearer != nullptr) {
    auth.bearer = read_text(*bearer, section.what(*bearer), reading);
    return auth.bearer ? std::optional(auth) : std::nullopt;
  }
  if (oauth2 != nullptr) {
    auth.oauth2 = parse_oauth2(*oauth2, section);
    return auth.oauth2 ? std::optional(auth) : std::nullopt;
  }
  auth.is_digest = digest != nullptr;
  if (auth.is_digest) basic = digest;
  if (basic == nullptr) {
    if (node->items.empty()) section.report_missing(section.where() + " names no scheme", one_of(schemes));
    return std::nullopt;
  }
  const Section credentials(*basic, in_quotes(basic->key) + " of " + section.where(), reading,
                            auth.is_digest ? maps::kDigest : maps::kBasic);
  if (!basic->is_map()) return std::nullopt;
  bool whole = true;
  for (const std::string_view key : {"user", "password"}) {
    const Node* part = credentials.find(key);
    if (part == nullptr) {
      credentials.report_missing(in_quotes(key) + " is missing in " + credentials.where(),
                                 "{user: NAME, password: SECRET}");
      whole = false;
      continue;
    }
    auto text = read_text(*part, credentials.what(*part), reading);
    whole = whole && text.has_value();
    if (text) (key == "user" ? auth.user : auth.password) = std::move(*text);
  }
  return whole ? std::optional(auth) : std::nullopt;
}

}  // namespace bellwether::scenario
