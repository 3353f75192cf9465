#include "load/scenario/sources.h"

#include <algorithm>
#include <array>

#include "core/base/bytes.h"
#include "load/scenario/section.h"

namespace bellwether::scenario {

FileView view_of(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const std::string_view bytes = *owner;
  return {bytes, std::move(owner)};
}

std::string beside(const std::string& scenario_file, const std::string& path) {
  const std::size_t slash = scenario_file.rfind('/');
  if (path.starts_with('/') || slash == std::string::npos) return path;
  return scenario_file.substr(0, slash + 1) + path;
}

Result<std::vector<std::string>> Outside::list_folder(const std::string& /*path*/, std::size_t /*most*/) const {
  return fail(Errc::kNotFound, "no such folder");
}

Result<FileView> Outside::view_file(const std::string& path, uint64_t bytes_max) const {
  BW_TRY(auto text, read_file(path, bytes_max));
  return view_of(std::move(text));
}

namespace {

// The content that an included file may have, and the number of levels of maps below it that are merged key by key.
struct Part {
  std::string_view key;
  int levels;
};
constexpr std::array<Part, 8> kParts{{{"env", 1},
                                      {"data", 1},
                                      {"metrics", 1},
                                      {"defaults", 3},
                                      {"setup", 0},
                                      {"workflows", 1},
                                      {"teardown", 0},
                                      {"thresholds", 1}}};
constexpr std::array<std::string_view, 9> kIncludedKeys{"include", "env",       "data",     "metrics",   "defaults",
                                                        "setup",   "workflows", "teardown", "thresholds"};
constexpr std::array<std::string_view, 5> kOwnKeys{"name", "on_loss", "timeout", "tags", "report"};

template <class Container>
bool contains(const Container& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string folder_of_file(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// The same path without "." and "..", as far as its text allows.
std::string plain(const std::string& path) {
  std::vector<std::string> parts;
  for (std::string_view rest = path; !rest.empty();) {
    std::string part(take_until(rest, '/'));
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else {
      parts.push_back(std::move(part));
    }
  }
  std::string out = path.starts_with('/') ? "/" : "";
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : "/") + parts[i];
  return out;
}

class Reader {
 public:
  Reader(const Sources& sources, Diagnostics& diagnostics) : sources_(sources), diagnostics_(diagnostics) {}

  std::optional<Included> read() {
    auto root =
        parse_yaml(sources_.text, diagnostics_, "a long body can stand in a file of its own: body: {file: PATH}");
    if (!root) return std::nullopt;
    out_.texts.push_back(sources_.text);
    out_.folders.emplace_back();
    places_.push_back({plain(sources_.file_name.substr(sources_.file_name.rfind('/') + 1)), {}});
    if (!root->is_map()) {
      out_.root = std::move(*root);
      return std::move(out_);
    }
    const std::vector<Text> includes = take_includes(*root);
    if (includes.empty()) {
      out_.root = std::move(*root);
      return std::move(out_);
    }
    out_.root.kind = Node::Kind::kMap;
    out_.root.mark = root->mark;
    open_.push_back(0);
    for (const Text& path : includes) include(path);
    merge(std::move(*root));
    return std::move(out_);
  }

 private:
  struct Place {
    std::string path;  // from the scenario's folder, for comparison: a link on the way may lead to another file
    Mark included_at;
  };

  // The value of `include`, which is removed.
  std::vector<Text> take_includes(Node& file) {
    std::vector<Text> out;
    const auto at = std::ranges::find_if(file.items, [](const Node& one) { return one.key == "include"; });
    if (at == file.items.end()) return out;
    const Node node = std::move(*at);
    file.items.erase(at);
    const auto take = [&](const Node& path) {
      if (path.is_scalar() && !path.text.empty() && path.text.find("${") == std::string::npos) {
        out.push_back({path.text, path.mark});
        return;
      }
      diagnostics_.add(path.mark, {.message = "wrong value of 'include'",
                                   .found = describe(path),
                                   .expected = "the path of a file, without ${…}, or a list of them"});
    };
    if (!node.is_list()) {
      take(node);
    } else {
      for (const Node& path : node.items) take(path);
    }
    return out;
  }

  void include(const Text& path) {
    if (diagnostics_.full()) return;
    const std::string where = (path.text.starts_with('/') ? "" : out_.folders[path.mark.file]) + path.text;
    const Place place{plain(where), path.mark};
    if (!may_include(path, place.path)) return;
    auto text = sources_.outside->read_file(where, kMaxIncludeBytes);
    if (!text) {
      diagnostics_.add(path.mark, {.message = fmt::format("the file {} cannot be read: {}", in_quotes(path.text),
                                                          text.error().message),
                                   .hint = "a relative path is relative to the folder of the file that includes"});
      return;
    }
    const uint16_t file = diagnostics_.add_file(beside(sources_.file_name, where));
    places_.push_back(place);
    out_.folders.push_back(folder_of_file(where));
    auto root = parse_yaml(*text, diagnostics_, {}, file);
    out_.texts.push_back(std::move(*text));
    if (!root || root->is_null()) return;
    if (!root->is_map()) {
      diagnostics_.add(root->mark, {.message = "an included file must be a map",
                                    .found = describe(*root),
                                    .expected = "a map with the keys " + join(kIncludedKeys)});
      return;
    }
    const std::vector<Text> includes = take_includes(*root);
    open_.push_back(file);
    for (const Text& inner : includes) include(inner);
    open_.pop_back();
    refuse_own_keys(*root);
    merge(std::move(*root));
  }

  bool may_include(const Text& path, const std::string& place) {
    const auto same = std::ranges::find_if(places_, [&](const Place& one) { return one.path == place; });
    if (same != places_.end()) {
      const auto file = static_cast<uint16_t>(same - places_.begin());
      const std::string before =
          file == 0 ? "it is the scenario itself" : "it is included at " + diagnostics_.place_of(same->included_at);
      const bool cycle = std::find(open_.begin(), open_.end(), file) != open_.end();
      diagnostics_.add(path.mark, {.message = fmt::format("the file {}{}", in_quotes(path.text),
                                                          cycle ? " includes itself" : " is included twice"),
                                   .hint = before});
      return false;
    }
    if (places_.size() > kMaxIncludes) {
      diagnostics_.add(path.mark, {.message = fmt::format("more than {} files are included", kMaxIncludes)});
      return false;
    }
    if (open_.size() > kMaxIncludeDepth) {
      diagnostics_.add(path.mark,
                       {.message = fmt::format("files include each other more than {} levels deep", kMaxIncludeDepth)});
      return false;
    }
    return true;
  }

  void refuse_own_keys(Node& file) {
    std::erase_if(file.items, [&](const Node& item) {
      if (contains(kIncludedKeys, item.key)) return false;
      if (contains(kOwnKeys, item.key)) {
        diagnostics_.add(item.place(), {.message = in_quotes(item.key) + " cannot stand in an included file",
                                        .hint = "write it into the scenario itself"});
      } else {
        diagnostics_.add(item.place(),
                         {.message = fmt::format("unknown key {} in an included file", in_quotes(item.key)),
                          .expected = one_of(kIncludedKeys),
                          .hint = did_you_mean(item.key, kIncludedKeys)});
      }
      return true;
    });
  }

  // Puts the content of a file behind the existing one.
  void merge(Node file) {
    for (Node& item : file.items) {
      const auto part = std::ranges::find_if(kParts, [&](const Part& one) { return one.key == item.key; });
      put(out_.root, std::move(item), part == kParts.end() ? 0 : part->levels, "the scenario");
    }
  }

  void put(Node& into, Node item, int levels, const std::string& where) {
    const auto there = std::ranges::find_if(into.items, [&](const Node& one) { return one.key == item.key; });
    if (there == into.items.end() || (levels > 0 && there->is_null())) {
      if (there != into.items.end()) into.items.erase(there);
      into.items.push_back(std::move(item));
      return;
    }
    if (levels > 0 && item.is_null()) return;
    if (levels > 0 && there->is_map() && item.is_map()) {
      for (Node& inner : item.items) put(*there, std::move(inner), levels - 1, in_quotes(item.key));
      return;
    }
    diagnostics_.add(item.place(), {.message = fmt::format("{} in {} is given twice", in_quotes(item.key), where),
                                    .hint = "the first time at " + diagnostics_.place_of(there->place())});
  }

  const Sources& sources_;
  Diagnostics& diagnostics_;
  Included out_;
  std::vector<Place> places_;   // by number of the file
  std::vector<uint16_t> open_;  // the files that are being read, each included by the one before
};

}  // namespace

std::optional<Included> read_with_includes(const Sources& sources, Diagnostics& diagnostics) {
  return Reader(sources, diagnostics).read();
}

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
