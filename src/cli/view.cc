#include "cli/view.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/encoding.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;

// Replaces bytes that are not UTF-8.
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Value& value) { return Json::parse(value.json(), nullptr, false); }

// The number of visible characters of UTF-8 text: continuation bytes do not count.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      line += printable(row[i]) + std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string figure(double value) { return fmt::format("{:.3f}", value); }

std::string joined(const std::vector<std::string>& texts, std::string_view none) {
  std::string out;
  for (const std::string& one : texts) out += (out.empty() ? "" : ", ") + one;
  return texts.empty() ? std::string(none) : out;
}

int print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

Value::Value(std::string_view text) : json_(json_text(Json(text))), text_(text) {}

Value Value::parsed(std::string_view json) {
  const Json read = Json::parse(json, nullptr, false);
  if (read.is_discarded() || read.is_null()) return {};
  if (read.is_string()) return read.get<std::string>();
  if (read.is_boolean()) return read.get<bool>();
  Value out;
  out.json_ = out.text_ = json_text(read);
  return out;
}

Value Value::of_real(double number) { return parsed(json_text(Json(number))); }

Value Value::of_list(const std::vector<Value>& items) {
  std::string out = "[";
  for (const Value& one : items) out += (out.size() > 1 ? "," : "") + one.json_;
  return parsed(out + "]");
}

Value Value::at(std::string_view key) const {
  const Json of = json_of(*this);
  const auto found = of.find(std::string(key));
  return found == of.end() ? Value() : parsed(json_text(*found));
}

std::string Value::document() const { return json_text(json_of(*this), 2) + "\n"; }

Field told(std::string_view key, Value value) {
  Field out("", key, std::move(value));
  out.for_people = false;
  return out;
}

Value object_of(const Fields& fields) {
  Json out = Json::object();
  for (const Field& one : fields) {
    if (!one.key.empty()) out[Json::json_pointer("/" + one.key)] = json_of(one.value);
  }
  return Value::parsed(json_text(out));
}

int print_json(const Fields& fields) { return print(object_of(fields).document()); }

std::string lines_of(const Fields& fields, std::size_t width) {
  std::string out;
  for (const Field& one : fields) {
    if (!one.for_people || one.text.empty()) continue;
    out += fmt::format("{}{}{}\n", one.heading, std::string(width - std::min(width, one.heading.size()), ' '),
                       printable(one.text));
  }
  return out;
}

std::string Rows::table() const {
  const auto cells = [](const Fields& fields, std::string Field::*what) {
    std::vector<std::string> out;
    for (const Field& one : fields) {
      if (one.for_people) out.push_back(one.*what);
    }
    return out;
  };
  Table table(cells(names_, &Field::heading));
  for (const Fields& row : rows_) table.add(cells(row, &Field::text));
  return table.text();
}

Value Rows::list() const {
  std::vector<Value> out;
  for (const Fields& row : rows_) out.push_back(object_of(row));
  return out;
}

std::string table_of(const Value& list, std::initializer_list<Column> columns) {
  std::vector<std::string> cells;
  for (const Column& column : columns) cells.emplace_back(column.heading);
  Table table(std::move(cells));
  for (const Json& row : json_of(list)) {
    cells.clear();
    for (const Column& column : columns) {
      cells.push_back(Value::parsed(json_text(row.value(column.key, Json()))).text());
    }
    table.add(cells);
  }
  return table.text();
}

}  // namespace bellwether::cli
