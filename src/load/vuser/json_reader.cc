#include "load/vuser/json_reader.h"

#include <simdjson.h>

#include "core/base/bytes.h"

namespace bellwether::vuser {

namespace od = simdjson::ondemand;

static_assert(JsonReader::kPadding >= simdjson::SIMDJSON_PADDING);

struct JsonReader::State {
  od::parser parser;
  od::document document;
  bool open = false;
};

JsonReader::JsonReader() : state_(std::make_unique<State>()) {}
JsonReader::~JsonReader() = default;

bool JsonReader::open(std::string_view text) {
  state_->open = state_->parser.iterate(text.data(), text.size(), text.size() + kPadding).get(state_->document) ==
                 simdjson::SUCCESS;
  return state_->open;
}

namespace {

bool step_into(od::value& value, const plan::JsonPath::Step& step) {
  if (!step.is_index) return value.find_field_unordered(step.key).get(value) == simdjson::SUCCESS;
  od::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return false;
  int64_t index = step.index;
  if (index < 0) {
    std::size_t count = 0;
    if (array.count_elements().get(count) != simdjson::SUCCESS) return false;
    index += static_cast<int64_t>(count);
    if (index < 0) return false;
  }
  return array.at(static_cast<std::size_t>(index)).get(value) == simdjson::SUCCESS;
}

// simdjson does not treat the document itself as a value, so the first step starts from the document.
bool first_step(od::document& document, const plan::JsonPath::Step& step, od::value& value) {
  if (!step.is_index) return document.find_field_unordered(step.key).get(value) == simdjson::SUCCESS;
  od::array array;
  if (document.get_array().get(array) != simdjson::SUCCESS) return false;
  int64_t index = step.index;
  if (index < 0) {
    std::size_t count = 0;
    if (array.count_elements().get(count) != simdjson::SUCCESS) return false;
    index += static_cast<int64_t>(count);
    if (index < 0) return false;
  }
  return array.at(static_cast<std::size_t>(index)).get(value) == simdjson::SUCCESS;
}

bool walk(od::document& document, const plan::JsonPath& path, od::value& value) {
  document.rewind();
  if (!first_step(document, path.steps.front(), value)) return false;
  for (std::size_t i = 1; i < path.steps.size(); ++i) {
    if (!step_into(value, path.steps[i])) return false;
  }
  return true;
}

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
  if (path.steps.empty()) {
    state_->document.rewind();
    return classify(state_->document);
  }
  od::value value;
  if (!walk(state_->document, path, value)) return std::monostate{};
  return classify(value);
}

bool JsonReader::find_text(const plan::JsonPath& path, std::string& out) {
  if (!state_->open) return false;
  if (path.steps.empty()) {
    state_->document.rewind();
    return append_text(state_->document, out);
  }
  od::value value;
  if (!walk(state_->document, path, value)) return false;
  return append_text(value, out);
}

}  // namespace bellwether::vuser
