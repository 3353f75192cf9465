#include "load/scenario/environment.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "load/scenario/section.h"

namespace bellwether::scenario {

namespace {

// Entries may mention each other, so that their length could double with each line.
constexpr std::size_t kMaxValueBytes = 1u << 20;

template <class Lookup>
Result<std::string> replace(std::string_view text, const Lookup& lookup) {
  BW_TRY(auto parts, split_template(text));
  std::string out;
  for (const TemplatePart& part : parts) {
    if (!part.is_expression) {
      out += part.text;
      continue;
    }
    const std::optional<std::string> value = lookup(part.text);
    if (!value) return fail(Errc::kNotFound, part.text);
    out += *value;
    if (out.size() > kMaxValueBytes) return fail(Errc::kTooLarge, "a value is longer than 1 MiB");
  }
  return out;
}

}  // namespace

Result<std::vector<TemplatePart>> split_template(std::string_view text) {
  std::vector<TemplatePart> parts;
  std::string literal;
  while (!text.empty()) {
    if (text.starts_with("$${")) {
      literal += "${";
      text.remove_prefix(3);
      continue;
    }
    if (!text.starts_with("${")) {
      literal += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos) {
      return fail(Errc::kInvalid, "a template is not closed: '}' is missing after '${'");
    }
    const std::string_view expression = trim(text.substr(2, close - 2));
    if (expression.empty()) return fail(Errc::kInvalid, "a template is empty: '${}'");
    if (!literal.empty()) parts.push_back({.is_expression = false, .text = std::move(literal)});
    literal.clear();
    parts.push_back({.is_expression = true, .text = std::string(expression)});
    text.remove_prefix(close + 1);
  }
  if (!literal.empty()) parts.push_back({.is_expression = false, .text = std::move(literal)});
  return parts;
}

Environment Environment::resolve(const Node* env, const Sources& sources, Diagnostics& diagnostics) {
  Environment out;
  for (const auto& [name, value] : sources.sets) out.values_[name] = value;
  if (env == nullptr || env->is_null()) return out;
  if (!env->is_map()) {
    diagnostics.add(
        env->place(),
        {.message = "wrong value of 'env'", .found = describe(*env), .expected = "a map of names and values"});
    return out;
  }
  const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
    if (const std::string* known = out.find(name)) return *known;
    return sources.outside->env(name);
  };
  for (const Node& entry : env->items) {
    if (diagnostics.full()) break;
    const bool is_builtin = std::find(kBuiltinNames.begin(), kBuiltinNames.end(), entry.key) != kBuiltinNames.end();
    if (!is_value_name(entry.key) || is_builtin) {
      diagnostics.add(entry.place(),
                      {.message = in_quotes(entry.key) + " cannot be the name of a value in 'env'",
                       .expected = "letters, digits and _, and none of the built-in names " + join(kBuiltinNames)});
      continue;
    }
    out.declared_.push_back(entry.key);
    if (out.find(entry.key) != nullptr) continue;  // --set
    std::string value;                             // stays empty after an error, so that it is reported only once
    if (const auto given = sources.outside->env(entry.key)) {
      value = *given;
    } else if (entry.is_null()) {
      diagnostics.add(entry.place(),
                      {.message = in_quotes(entry.key) + " in 'env' has no value",
                       .hint = fmt::format("give one with --set {}=… or as environment variable", entry.key)});
    } else if (!entry.is_scalar()) {
      diagnostics.add(entry.place(), {.message = fmt::format("wrong value of {} in 'env'", in_quotes(entry.key)),
                                      .found = describe(entry),
                                      .expected = "a text or a number"});
    } else if (auto text = replace(entry.text, lookup)) {
      value = std::move(*text);
    } else if (text.error().code == Errc::kNotFound) {
      diagnostics.add(entry.mark, {.message = fmt::format("unknown name {} in 'env'", in_quotes(text.error().message)),
                                   .expected = "an environment variable, a --set name or an entry above this one",
                                   .complete = [&](Diagnostics::Problem& problem) {
                                     problem.hint = did_you_mean(text.error().message, out.names());
                                   }});
    } else {
      diagnostics.add(entry.mark, {.message = text.error().message, .found = describe(entry)});
    }
    out.values_[entry.key] = std::move(value);
  }
  return out;
}

const std::string* Environment::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

bool Environment::declares(std::string_view name) const {
  return std::find(declared_.begin(), declared_.end(), name) != declared_.end();
}

std::vector<std::string_view> Environment::names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, value] : values_) out.push_back(name);
  return out;
}

Result<std::string> Environment::fold(std::string_view text) const {
  return replace(text, [this](const std::string& name) -> std::optional<std::string> {
    const std::string* value = find(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(*value);
  });
}

}  // namespace bellwether::scenario
