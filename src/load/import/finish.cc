// From a draft to the text of a scenario: names of steps, the common base, what all steps share, YAML.
#include <algorithm>
#include <set>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/yaml/section.h"
#include "load/import/request.h"
#include "load/scenario/builtins.h"
#include "load/scenario/model.h"

namespace bellwether::imports {
namespace {

// Leaves room for the number that makes a name unique.
constexpr std::size_t kStepNameBytes = 60;
constexpr std::size_t kCommentBytes = 100;

// Words that YAML, or an editor of an older YAML, takes for no text.
constexpr std::array<std::string_view, 7> kYamlWords{"null", "true", "false", "yes", "no", "on", "off"};

std::string quoted_scalar(std::string_view text) {
  std::string out = "\"";
  for (;;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = yaml::flow_text(text.substr(0, end));
    out += std::string_view(line).substr(1, line.size() - 2);
    if (end == text.size()) return out + '"';
    out += "\\n";
    text.remove_prefix(end + 1);
  }
}

// A text as a key or value of a block, in quotes where YAML needs them.
std::string scalar(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  if (rest.starts_with("https://")) rest.remove_prefix(8);
  const bool begins = !text.empty() && (is_letter(text.front()) || text.front() == '/') && text.back() != ' ';
  const bool is_word = std::ranges::any_of(kYamlWords, [text](std::string_view word) { return iequals(text, word); });
  const bool is_plain = rest.empty() || is_word_of(rest, "_./ @?=&;+%~-(),*");
  return begins && !is_word && is_plain ? std::string(text) : quoted_scalar(text);
}

// One line that no content can leave.
std::string comment_text(std::string_view text) {
  std::string line = printable(text.substr(0, text.find('\n')));
  if (line.size() > kCommentBytes) {
    line.resize(kCommentBytes);
    while (!is_utf8(line)) line.pop_back();
    line += "...";
  }
  return is_utf8(line) ? line : std::string();
}

class ScenarioText {
 public:
  std::string take() { return std::move(out_); }

  void line(int indent, std::string_view text) { out_ += fmt::format("{:{}}{}\n", "", indent, text); }
  void entry(int indent, std::string_view key, std::string_view value) {
    line(indent, fmt::format("{}: {}", scalar(key), value));
  }
  void comment(int indent, std::string_view text) {
    const std::string one = comment_text(text);
    if (!one.empty()) line(indent, "# " + one);
  }

  // A name that is given several times gets a list of its values.
  void fields(int indent, std::string_view key, Fields fields) {
    for (Field& field : fields) field.value = scalar(field.value);
    entries(indent, key, fields);
  }

  void parts(int indent, const std::vector<Part>& parts) {
    Fields fields;
    for (const Part& part : parts) {
      std::string& value = fields.emplace_back(Field{part.field.name, {}}).value;
      if (!part.is_file && part.filename.empty() && part.type.empty()) {
        value = scalar(part.field.value);
        continue;
      }
      value = fmt::format("{{{}: {}", part.is_file ? "file" : "text", quoted_scalar(part.field.value));
      if (!part.filename.empty()) value += ", filename: " + quoted_scalar(part.filename);
      if (!part.type.empty()) value += ", type: " + quoted_scalar(part.type);
      value += '}';
    }
    entries(indent, "multipart", fields);
  }

  void node(int indent, std::string_view before, const Node& node) {
    if (node.is_null() || node.is_scalar()) {
      const std::string text = node.is_null() ? "null" : node.is_quoted ? scalar(node.text) : node.text;
      return line(indent, fmt::format("{}{}", before, text));
    }
    if (node.items.empty()) return line(indent, fmt::format("{}{}", before, node.is_map() ? "{}" : "[]"));
    // A map in a list begins on the line of its dash.
    const bool is_joined = before == "- " && node.is_map();
    if (!is_joined) line(indent, trim(before));
    for (const Node& item : node.items) {
      const std::size_t begin = out_.size();
      this->node(indent + 2, node.is_map() ? scalar(item.key) + ": " : "- ", item);
      if (is_joined && &item == &node.items.front()) out_.replace(begin + static_cast<std::size_t>(indent), 2, "- ");
    }
  }

  void auth(int indent, const Auth& auth) {
    if (auth.scheme == "bearer")
      return entry(indent, "auth", fmt::format("{{bearer: {}}}", quoted_scalar(auth.secret)));
    entry(indent, "auth",
          fmt::format("{{{}: {{user: {}, password: {}}}}}", auth.scheme, quoted_scalar(auth.user),
                      quoted_scalar(auth.secret)));
  }

  void request(const Request& request, const std::string& after) {
    line(6, request.name + ":");
    for (const std::string& text : request.comments) comment(8, text);
    if (!after.empty()) entry(8, "after", after);
    if (!request.group.empty()) entry(8, "group", scalar(request.group));
    line(8, "http:");
    static constexpr std::array<std::string_view, 8> kMethods{"GET",    "POST", "PUT",     "PATCH",
                                                              "DELETE", "HEAD", "OPTIONS", "TRACE"};
    if (std::find(kMethods.begin(), kMethods.end(), request.method) != kMethods.end()) {
      entry(10, lower_case(request.method), scalar(request.url));
    } else {
      entry(10, "method", scalar(request.method));
      entry(10, "url", scalar(request.url));
    }
    for (const Field& option : request.options) entry(10, option.name, option.value);
    if (request.auth) auth(10, *request.auth);
    fields(10, "query", request.query);
    fields(10, "headers", request.headers);
    switch (request.body.kind) {
      case Body::Kind::kNone: break;
      case Body::Kind::kText: entry(10, "body", quoted_scalar(request.body.text)); break;
      case Body::Kind::kFile: entry(10, "body", fmt::format("{{file: {}}}", quoted_scalar(request.body.text))); break;
      case Body::Kind::kForm: fields(10, "form", request.body.form); break;
      case Body::Kind::kMultipart: parts(10, request.body.parts); break;
      case Body::Kind::kJson: node(10, "json: ", request.body.json); break;
    }
    if (!request.status.empty()) entry(8, "check", fmt::format("{{status: {}}}", request.status));
    if (request.think > Duration::zero()) entry(8, "think", format_duration(request.think));
  }

 private:
  // Their values are YAML.
  void entries(int indent, std::string_view key, const Fields& fields) {
    if (fields.empty()) return;
    line(indent, fmt::format("{}:", key));
    std::set<std::string_view> written;
    for (const Field& field : fields) {
      if (!written.insert(field.name).second) continue;
      std::vector<std::string_view> values;
      for (const Field& one : fields) {
        if (one.name == field.name) values.push_back(one.value);
      }
      if (values.size() == 1) {
        entry(indent + 2, field.name, field.value);
        continue;
      }
      line(indent + 2, scalar(field.name) + ":");
      for (const std::string_view value : values) line(indent + 4, fmt::format("- {}", value));
    }
  }

  std::string out_;
};

// Letters and digits, with one _ between words: "GET /items/42?x" is get_items_42.
std::string step_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_letter_or_digit(c) || c == '-') {
      out += c;
    } else if (!out.empty() && !out.ends_with('_')) {
      out += '_';
    }
  }
  out.resize(std::min(out.size(), kStepNameBytes));
  while (out.ends_with('_')) out.pop_back();
  return out;
}

void name_steps(Draft& draft) {
  std::set<std::string> taken;
  for (Request& request : draft.requests) {
    std::string name = step_name(request.name);
    if (name.empty()) {
      std::string_view path = request.url;
      path = path.substr(0, path.find('?'));
      const std::size_t scheme = path.find("://");
      if (scheme != std::string_view::npos) path.remove_prefix(std::min(path.find('/', scheme + 3), path.size()));
      name = step_name(fmt::format("{} {}", lower_case(request.method), path));
    }
    const auto& reserved = scenario::kBuiltinNames;
    if (std::find(reserved.begin(), reserved.end(), name) != reserved.end()) name += "_step";
    std::string unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number) unique = fmt::format("{}_{}", name, number);
    request.name = unique;
  }
}

// "https://host:8443" of an absolute URL without expressions in its host.
std::string origin_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos || scheme > url.find_first_of("/?$")) return {};
  std::string origin = url.substr(0, std::min(url.find_first_of("/?", scheme + 3), url.size()));
  return origin.find('$') == std::string::npos ? origin : std::string();
}

void find_base(Draft& draft) {
  if (!draft.base.empty()) return;
  // In the order of the requests: the first of several that are equally frequent wins.
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const Request& request : draft.requests) {
    const std::string origin = origin_of(request.url);
    const auto known = std::ranges::find_if(counts, [&](const auto& one) { return one.first == origin; });
    if (known != counts.end()) {
      ++known->second;
    } else if (!origin.empty()) {
      counts.emplace_back(origin, 1);
    }
  }
  if (counts.empty()) return;
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  // A command line may have a variable of this name.
  const bool is_taken =
      std::ranges::any_of(draft.variables, [](const Draft::Variable& one) { return one.name == "BASE"; });
  const std::string name = is_taken ? "BASE_URL" : "BASE";
  draft.variables.insert(draft.variables.begin(), {name, most->first, ""});
  draft.base = fmt::format("${{{}}}", name);
  for (Request& request : draft.requests) {
    if (origin_of(request.url) == most->first) request.url.erase(0, most->first.size());
  }
}

// Moves out of all requests what each of them has.
template <class List>
List take_shared(Draft& draft, List Request::*list) {
  List shared;
  if (draft.requests.size() < 2) return shared;
  for (const auto& wanted : draft.requests.front().*list) {
    const bool is_shared = std::ranges::all_of(draft.requests, [&](const Request& request) {
      return std::find((request.*list).begin(), (request.*list).end(), wanted) != (request.*list).end();
    });
    if (is_shared) shared.push_back(wanted);
  }
  for (Request& request : draft.requests) {
    std::erase_if(request.*list,
                  [&](const auto& one) { return std::find(shared.begin(), shared.end(), one) != shared.end(); });
  }
  return shared;
}

void write_env(const Draft& draft, ScenarioText& text) {
  if (draft.variables.empty()) return;
  text.line(0, "env:");
  for (const Draft::Variable& one : draft.variables) {
    const std::string comment = one.comment.empty() ? std::string() : "  # " + comment_text(one.comment);
    text.line(2, fmt::format("{}:{}{}", one.name, one.value ? " " + scalar(*one.value) : std::string(), comment));
  }
}

void write_defaults(Draft& draft, ScenarioText& text) {
  const Fields headers = take_shared(draft, &Request::headers);
  const Fields options = take_shared(draft, &Request::options);
  const std::optional<Auth> auth = draft.requests.front().auth;
  const bool has_auth =
      draft.requests.size() > 1 && auth &&
      std::ranges::all_of(draft.requests, [&](const Request& request) { return request.auth == auth; });
  if (draft.base.empty() && headers.empty() && options.empty() && !has_auth) return;
  text.line(0, "defaults:");
  text.line(2, "http:");
  if (!draft.base.empty()) text.entry(4, "base", scalar(draft.base));
  for (const Field& option : options) text.entry(4, option.name, option.value);
  if (has_auth) {
    text.auth(4, *auth);
    for (Request& request : draft.requests) request.auth.reset();
  }
  text.fields(4, "headers", headers);
}

}  // namespace

Import finish(Draft& draft, const Choices& choices) {
  if (draft.diagnostics.empty() && draft.requests.empty()) {
    draft.diagnostics.add({}, {.message = "no request is left to import",
                               .hint = choices.hosts.empty() ? "" : "--host names the hosts to keep"});
  }
  if (draft.requests.size() > scenario::kMaxSteps) {
    draft.diagnostics.add({}, {.message = "there are too many requests",
                               .found = format_count(draft.requests.size()),
                               .expected = fmt::format("at most {}", scenario::kMaxSteps),
                               .hint = "import a part of them"});
  }
  if (!draft.diagnostics.empty()) return tl::unexpected(draft.diagnostics.take());
  name_steps(draft);
  if (!draft.is_public) hide_secrets(draft, choices.keep_secrets);
  find_base(draft);
  ScenarioText text;
  text.comment(0, "From " + draft.name);
  write_env(draft, text);
  write_defaults(draft, text);
  text.line(0, "workflows:\n  main:\n    vus: 1\n    duration: 10s\n    steps:");
  std::string before;
  for (const Request& request : draft.requests) {
    text.request(request, before);
    before = request.name;
  }
  Imported out{.scenario = text.take(), .steps = draft.requests.size(), .warnings = {}, .unset = {}};
  if (out.scenario.size() > yaml::kMaxFileBytes) {
    draft.diagnostics.add({}, {.message = "the scenario would be too large",
                               .found = format_bytes(static_cast<double>(out.scenario.size())),
                               .expected = fmt::format("at most {} MiB", yaml::kMaxFileBytes >> 20),
                               .hint = "import a part of the requests"});
    return tl::unexpected(draft.diagnostics.take());
  }
  // Each warning once: many requests may have the same.
  std::set<std::string> said;
  for (std::string& warning : draft.warnings) {
    if (said.insert(warning).second) out.warnings.push_back(std::move(warning));
  }
  for (const Draft::Variable& one : draft.variables) {
    if (!one.value) out.unset.push_back(one.name);
  }
  return out;
}

}  // namespace bellwether::imports
