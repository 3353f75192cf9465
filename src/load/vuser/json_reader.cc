#include "load/vuser/json_reader.h"

#include <optional>
#include <simdjson.h>

#include "core/base/bytes.h"
#include "load/vuser/json_query.h"

namespace bellwether::vuser {

namespace od = simdjson::ondemand;

static_assert(JsonReader::kPadding >= simdjson::SIMDJSON_PADDING);

namespace {

// Finds members as they are written: enough for documents and names without escapes.
struct AsWritten {
  template <class Source>
  static bool find(Source& source, std::string_view key, od::value& value) {
    return source.find_field_unordered(key).get(value) == simdjson::SUCCESS;
  }
};

// Finds members by their names.
struct ByName {
  template <class Source>
  static bool find(Source& source, std::string_view key, od::value& value) {
    od::object object;
    if (source.get_object().get(object) != simdjson::SUCCESS) return false;
    for (auto field : object) {
      std::string_view name;
      if (field.unescaped_key().get(name) != simdjson::SUCCESS) return false;
      if (name == key) return field.value().get(value) == simdjson::SUCCESS;
    }
    return false;
  }
};

// `source`: a value, or the document, which simdjson does not treat as one.
template <class Members, class Source, class Step>
bool step_into(Source& source, const Step& step, od::value& value) {
  if (!step.is_index) return Members::find(source, step.key, value);
  od::array array;
  if (source.get_array().get(array) != simdjson::SUCCESS) return false;
  int64_t index = step.index;
  if (index < 0) {
    std::size_t count = 0;
    if (array.count_elements().get(count) != simdjson::SUCCESS) return false;
    index += static_cast<int64_t>(count);
    if (index < 0) return false;
  }
  return array.at(static_cast<std::size_t>(index)).get(value) == simdjson::SUCCESS;
}

// Out of line, and its callers inline: so a check of one value takes the fewest instructions.
template <class Members, class Steps>
[[gnu::noinline]] bool walk(od::document& document, const Steps& steps, od::value& value) {
  document.rewind();
  if (!step_into<Members>(document, steps.front(), value)) return false;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (!step_into<Members>(value, steps[i], value)) return false;
  }
  return true;
}

}  // namespace

struct JsonReader::State {
  od::parser parser;
  od::document document;
  std::string_view text;
  bool open = false;
  // What is known of the text: only when a question needs it.
  std::optional<bool> has_escapes;
  std::optional<bool> is_valid;
  JsonQueries queries;

  bool valid() {
    if (!is_valid) is_valid = queries.open(text);
    return *is_valid;
  }

  // The value behind a path; `number`: which, of one that may name several. REQUIRES that it has steps, or names
  // several.
  [[gnu::always_inline]] bool reach(const plan::JsonPath& path, std::size_t number, od::value& value) {
    if (path.many == nullptr && !path.has_escapes && walk<AsWritten>(document, path.steps, value)) return true;
    return reach_by_name(path, number, value);
  }

 private:
  [[gnu::noinline]] bool reach_by_name(const plan::JsonPath& path, std::size_t number, od::value& value) {
    if (path.many != nullptr) {
      if (!valid()) return false;
      const std::vector<JsonQueries::Step>& way = queries.way_to(*path.many, number);
      return !way.empty() && walk<ByName>(document, way, value);
    }
    if (!has_escapes) has_escapes = text.find('\\') != std::string_view::npos;
    return (*has_escapes || path.has_escapes) && walk<ByName>(document, path.steps, value);
  }
};

JsonReader::JsonReader() : state_(std::make_unique<State>()) {}
JsonReader::~JsonReader() = default;

bool JsonReader::open(std::string_view text) {
  state_->text = text;
  state_->has_escapes.reset();
  state_->is_valid.reset();
  state_->open = state_->parser.iterate(text.data(), text.size(), text.size() + kPadding).get(state_->document) ==
                 simdjson::SUCCESS;
  return state_->open;
}

bool JsonReader::valid() { return state_->valid(); }

namespace {

bool names_document(const plan::JsonPath& path) { return path.steps.empty() && path.many == nullptr; }

template <class Source>
JsonReader::Value classify(Source& source) {
  od::json_type type;
  if (source.type().get(type) != simdjson::SUCCESS) return std::monostate{};
  switch (type) {
    case od::json_type::string: {
      std::string_view text;
      if (source.get_string().get(text) != simdjson::SUCCESS) return std::monostate{};
      return text;
    }
    case od::json_type::number: {
      double number = 0;
      if (source.get_double().get(number) != simdjson::SUCCESS) return std::monostate{};
      return number;
    }
    case od::json_type::boolean: {
      bool flag = false;
      if (source.get_bool().get(flag) != simdjson::SUCCESS) return std::monostate{};
      return flag;
    }
    case od::json_type::null: return JsonReader::Null{};
    default: return JsonReader::Compound{};
  }
}

template <class Source>
bool append_text(Source& source, std::string& out) {
  od::json_type type;
  if (source.type().get(type) != simdjson::SUCCESS) return false;
  std::string_view text;
  switch (type) {
    case od::json_type::string:
      if (source.get_string().get(text) != simdjson::SUCCESS) return false;
      break;
    case od::json_type::object:
    case od::json_type::array:
      if (simdjson::to_json_string(source).get(text) != simdjson::SUCCESS) return false;
      break;
    default: text = bellwether::trim(source.raw_json_token()); break;
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  out.append(text);
  return true;
}

}  // namespace

JsonReader::Value JsonReader::find(const plan::JsonPath& path) {
  if (!state_->open) return std::monostate{};
  if (names_document(path)) {
    state_->document.rewind();
    return classify(state_->document);
  }
  od::value value;
  if (!state_->reach(path, 0, value)) return std::monostate{};
  return classify(value);
}

bool JsonReader::find_text(const plan::JsonPath& path, std::string& out, std::size_t number) {
  if (!state_->open) return false;
  if (names_document(path)) {
    state_->document.rewind();
    return append_text(state_->document, out);
  }
  od::value value;
  if (!state_->reach(path, number, value)) return false;
  return append_text(value, out);
}

std::optional<std::size_t> JsonReader::count(const plan::JsonPath& path) {
  return state_->open && valid() ? state_->queries.count(*path.many) : std::nullopt;
}

bool JsonReader::find_list(const plan::JsonPath& path, std::string& out) {
  return state_->open && valid() && state_->queries.list(*path.many, out);
}

}  // namespace bellwether::vuser
