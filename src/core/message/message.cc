#include "core/message/message.h"

#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/base/encoding.h"
#include "core/message/description.h"
#include "core/message/wire_format.h"

namespace bellwether::message {
namespace {

using Form = Rule::Form;

// --- writing ---------------------------------------------------------------------------------------------------------

void put_message(const Message& message, const void* from, std::string& out);

WireType wire_type(const Type& type, const Rule& rule) {
  if (type.kind == Kind::kText || type.kind == Kind::kMessage) return WireType::kBytes;
  return type.kind == Kind::kReal || rule.form == Form::kFixed ? WireType::kFixed64 : WireType::kVarint;
}

void put_number(const Type& type, const Rule& rule, uint64_t bits, std::string& out) {
  if (wire_type(type, rule) == WireType::kFixed64) return put_fixed64(bits, out);
  put_varint(rule.form == Form::kZigzag ? zigzag_bits(bits) : bits, out);
}

// A text of which the writer sees to its form, else as it is.
std::string_view written(const Field& field, std::string_view text, std::string& scratch) {
  if (field.rule.fit != nullptr) return scratch = field.rule.fit(text);
  return field.rule.cuts ? text.substr(0, field.rule.most) : text;
}

// One value, with its tag; a zero or empty value is left out unless `present`.
void put_value(const Field& field, const Type& type, const void* from, bool present, std::string& out) {
  switch (type.kind) {
    case Kind::kText: {
      std::string bytes;
      std::string fit;
      const std::string_view text = written(field, type.view(from, bytes), fit);
      if (text.empty() && !present) return;
      put_tag(field.number, WireType::kBytes, out);
      put_varint(text.size(), out);
      out += text;
      return;
    }
    case Kind::kMessage: {
      const std::size_t tag = out.size();
      put_tag(field.number, WireType::kBytes, out);
      const std::size_t start = out.size();
      put_message(type.message(), from, out);
      if (out.size() == start && !present) return out.resize(tag);
      return insert_length(start, out);
    }
    default: {
      const uint64_t bits = type.load(from);
      if (bits == 0 && !present) return;
      put_tag(field.number, wire_type(type, field.rule), out);
      put_number(type, field.rule, bits, out);
    }
  }
}

void put_list(const Field& field, const void* from, std::string& out) {
  const Type& item = *field.type->item;
  const std::size_t size = field.type->size(from);
  if (item.kind == Kind::kText || item.kind == Kind::kMessage || field.type->kind == Kind::kOptional) {
    for (std::size_t i = 0; i < size; ++i) put_value(field, item, field.type->at(from, i), true, out);
    return;
  }
  if (size == 0) return;
  put_tag(field.number, WireType::kBytes, out);
  const std::size_t start = out.size();
  for (std::size_t i = 0; i < size; ++i) put_number(item, field.rule, item.load(field.type->at(from, i)), out);
  insert_length(start, out);
}

void put_message(const Message& message, const void* from, std::string& out) {
  for (std::size_t i = 0; i < message.count; ++i) {
    const Field& field = message.fields[i];
    const void* value = field.locate(const_cast<void*>(from));
    if (value == nullptr) continue;  // another alternative is held
    if (field.type->item != nullptr) {
      put_list(field, value, out);
    } else {
      put_value(field, *field.type, value, field.emplace != nullptr, out);
    }
  }
}

// --- limits ----------------------------------------------------------------------------------------------------------

bool below(const Type& type, uint64_t a, uint64_t b) {
  switch (type.kind) {
    case Kind::kSigned: return static_cast<int64_t>(a) < static_cast<int64_t>(b);
    // Written so that NaN is below every limit.
    case Kind::kReal: return !(std::bit_cast<double>(a) >= std::bit_cast<double>(b));
    default: return a < b;
  }
}

bool is_within(const Field& field, const Type& type, uint64_t bits) {
  return type.kind == Kind::kBool || (!below(type, bits, field.rule.least) && !below(type, field.rule.most, bits));
}

bool is_within(const Field& field, std::string_view text) {
  const Rule& rule = field.rule;
  if (text.empty() && rule.or_empty) return true;
  if (text.size() < rule.least || text.size() > rule.most) return false;
  return rule.good == nullptr || rule.good(text);
}

std::string text_of(const Type& type, uint64_t bits) {
  char text[32];
  const auto write = [&](auto value) { return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr); };
  switch (type.kind) {
    case Kind::kSigned: return write(static_cast<int64_t>(bits));
    case Kind::kReal: return write(std::bit_cast<double>(bits));
    default: return write(bits);
  }
}

std::string limit_of(const Field& field, const Type& type) {
  return fmt::format("{} to {}", text_of(type, field.rule.least), text_of(type, field.rule.most));
}

std::string number_error(const Field& field, const Type& type, uint64_t bits) {
  return fmt::format("is {}; expected {}", text_of(type, bits), limit_of(field, type));
}

std::string text_error(const Field& field, std::string_view text) {
  const Rule& rule = field.rule;
  if (text.size() >= rule.least && text.size() <= rule.most && !rule.what.empty()) {
    return fmt::format("is '{}', which is not a valid {}", printable(text.substr(0, 80)), rule.what);
  }
  const std::string limit =
      rule.least == rule.most ? std::to_string(rule.most) : fmt::format("{} to {}", rule.least, rule.most);
  return fmt::format("has {} bytes; expected {}", text.size(), limit);
}

std::string list_error(const Field& field) {
  return fmt::format("has more than {} entries, the limit", field.rule.items);
}

// The place of a value in a message, from the outside in.
struct Path {
  const Path* outer = nullptr;
  const Field* field = nullptr;
  std::size_t index = 0;

  std::string text() const {
    if (field == nullptr) return {};
    std::string out = outer == nullptr ? std::string() : outer->text();
    if (!out.empty()) out += '.';
    out += field->name;
    if (field->type->kind == Kind::kList) out += fmt::format("[{}]", index);
    return out;
  }
};

// Looks for the first limit that is broken.
class Checker {
 public:
  std::string wrong;  // in words

  bool message(const Message& of, const void* value, const Path& path) {
    for (std::size_t i = 0; i < of.count; ++i) {
      const Field& field = of.fields[i];
      const void* at = field.locate(const_cast<void*>(value));
      if (at != nullptr && !member(field, at, path)) return false;
    }
    const std::string_view contradiction = of.check == nullptr ? "" : of.check(value);
    if (contradiction.empty()) return true;
    const std::string where = path.text();
    wrong = fmt::format("{} has {}", where.empty() ? "it" : "its " + where, contradiction);
    return false;
  }

 private:
  bool member(const Field& field, const void* at, const Path& path) {
    const Type& type = *field.type;
    if (type.item == nullptr) return single(field, type, at, {&path, &field, 0});
    const std::size_t size = type.size(at);
    if (type.kind == Kind::kList && size > field.rule.items) return refuse({&path, &field, 0}, list_error(field));
    for (std::size_t i = 0; i < size; ++i) {
      if (!single(field, *type.item, type.at(at, i), {&path, &field, i})) return false;
    }
    return true;
  }
  bool single(const Field& field, const Type& type, const void* at, const Path& path) {
    if (type.kind == Kind::kMessage) return message(type.message(), at, path);
    if (type.good != nullptr) return type.good(at) || refuse(path, "is not a valid " + std::string(field.rule.what));
    if (type.kind == Kind::kText) {
      std::string scratch;
      const std::string_view text = type.view(at, scratch);
      return is_within(field, text) || refuse(path, text_error(field, text));
    }
    const uint64_t bits = type.load(at);
    return is_within(field, type, bits) || refuse(path, number_error(field, type, bits));
  }
  bool refuse(const Path& path, const std::string& why) {
    wrong = fmt::format("its {} {}", path.text(), why);
    return false;
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

class Reader {
 public:
  std::string wrong;  // in words
  bool unknown = false;

  bool message(const Message& of, std::string_view bytes, void* to, const Path& path) {
    WireReader in(bytes);
    std::size_t next = 0;  // fields come in order, as a rule
    bool has_alternatives = false;
    for (std::size_t i = 0; i < of.count; ++i) has_alternatives |= of.fields[i].alternative;
    bool found_one = false;
    while (!in.done()) {
      const auto part = in.part();
      if (!part) return fail("it is truncated or malformed", path);
      const Field* field = field_of(of, part->number, next);
      // A field of another wire type is another, unknown field.
      if (field == nullptr || !is_of_type(*field, part->type)) continue;
      // Clears the defaults of a new value, which were not sent.
      if (field->alternative && !found_one) clear(*field->type, field->emplace(to));
      found_one |= field->alternative;
      if (!member(*field, *part, to, path)) return false;
    }
    unknown |= has_alternatives && !found_one;
    if (of.complete != nullptr) of.complete(to);
    return true;
  }

  // Members that a message leaves out become zero or empty, even if a new value of its struct begins otherwise.
  static void clear(const Message& of, void* to) {
    for (std::size_t i = 0; i < of.count; ++i) {
      const Field& field = of.fields[i];
      if (field.emplace != nullptr) continue;
      void* at = field.locate(to);
      if (field.type->item != nullptr) {
        field.type->clear(at);
      } else {
        clear(*field.type, at);
      }
    }
  }

 private:
  static void clear(const Type& type, void* at) {
    if (type.kind == Kind::kMessage) return clear(type.message(), at);
    if (type.kind == Kind::kText) return static_cast<void>(type.take(at, {}));
    type.store(at, 0);
  }

  static bool is_of_type(const Field& field, WireType found) {
    const Type& type = field.type->item != nullptr ? *field.type->item : *field.type;
    return found == wire_type(type, field.rule) || (field.type->kind == Kind::kList && found == WireType::kBytes);
  }

  static const Field* field_of(const Message& of, uint32_t number, std::size_t& next) {
    for (std::size_t i = 0; i < of.count; ++i) {
      const std::size_t at = next + i < of.count ? next + i : next + i - of.count;
      if (of.fields[at].number != number) continue;
      next = at;
      return &of.fields[at];
    }
    return nullptr;
  }

  bool member(const Field& field, const WireReader::Part& part, void* to, const Path& path) {
    const Type& type = *field.type;
    if (type.item == nullptr) {
      void* at = field.locate(to);
      if (at == nullptr) {
        at = field.emplace(to);
        clear(type, at);
      }
      return single(field, type, part, at, {&path, &field, 0});
    }
    void* list = field.locate(to);
    const Path here{&path, &field, type.size(list)};
    const bool is_packed = part.type == WireType::kBytes && wire_type(*type.item, field.rule) != WireType::kBytes;
    return is_packed ? packed(field, part.bytes, list, here) : add(field, part, list, here);
  }
  bool add(const Field& field, const WireReader::Part& part, void* list, const Path& path) {
    const Type& type = *field.type;
    if (type.kind == Kind::kList && type.size(list) >= field.rule.items) return refuse(list_error(field), path);
    const bool is_new = type.kind == Kind::kList || type.size(list) == 0;
    void* at = type.add(list);
    if (is_new) clear(*type.item, at);
    return single(field, *type.item, part, at, path);
  }
  bool packed(const Field& field, std::string_view bytes, void* list, const Path& path) {
    WireReader in(bytes);
    WireReader::Part part;
    part.type = wire_type(*field.type->item, field.rule);
    while (!in.done()) {
      const auto value = part.type == WireType::kVarint ? in.varint() : in.fixed(8);
      if (!value) return fail("it is truncated or malformed", path);
      part.value = *value;
      if (!add(field, part, list, {path.outer, path.field, field.type->size(list)})) return false;
    }
    return true;
  }

  bool single(const Field& field, const Type& type, const WireReader::Part& part, void* to, const Path& path) {
    if (type.kind == Kind::kMessage) return message(type.message(), part.bytes, to, path);
    if (type.kind == Kind::kText) {
      const Rule& rule = field.rule;
      if (rule.fit != nullptr) return type.take(to, rule.fit(part.bytes));
      // Too long is refused before it is copied.
      if (part.bytes.size() > rule.most || part.bytes.size() < type.length)
        return refuse(text_error(field, part.bytes), path);
      if (type.take(to, part.bytes)) return true;
      return refuse(type.length != 0 ? text_error(field, part.bytes) : "is not a valid " + std::string(rule.what),
                    path);
    }
    return number(field, type, part.value, to, path);
  }
  bool number(const Field& field, const Type& type, uint64_t bits, void* to, const Path& path) {
    const Rule& rule = field.rule;
    if (rule.form == Form::kZigzag) bits = unzigzag_bits(bits);
    if (!is_within(field, type, bits)) {
      if (rule.clamps) {
        bits = below(type, bits, rule.least) ? rule.least : rule.most;
      } else if (rule.falls_back) {
        bits = rule.fallback;
      } else {
        return refuse(number_error(field, type, bits), path);
      }
    }
    type.store(to, bits);
    return true;
  }

  bool refuse(const std::string& why, const Path& path) {
    wrong = fmt::format("its {} {}", path.text(), why);
    return false;
  }
  bool fail(const std::string& why, const Path& path) {
    wrong = path.text().empty() ? why : fmt::format("its {}: {}", path.text(), why);
    return false;
  }
};

}  // namespace

std::string encode(const Message& message, const void* from) {
  std::string out;
  put_message(message, from, out);
  return out;
}

Status decode(const Message& message, std::string_view bytes, void* to) {
  if (bytes.size() > message.most) {
    return fail(Errc::kTooLarge, "{} of {} bytes is refused: the limit is {}", message.name, bytes.size(),
                message.most);
  }
  Reader reader;
  Reader::clear(message, to);
  if (!reader.message(message, bytes, to, {})) {
    return fail(message.refusal, "{} is refused: {}", message.name, reader.wrong);
  }
  if (reader.unknown) {
    return fail(Errc::kUnsupported, std::string(message.name) + " is of a kind that this version does not know");
  }
  return check_limits(message, to);
}

Status check_limits(const Message& message, const void* value) {
  Checker checker;
  if (checker.message(message, value, {})) return {};
  return fail(message.refusal, "{} is refused: {}", message.name, checker.wrong);
}

const Field* alternative_in(const Message& message, std::string_view bytes) {
  constexpr int kMaxParts = 16;  // a message with alternatives has few, and later versions may add some
  const Field* found = nullptr;
  WireReader in(bytes);
  for (int parts = 0; !in.done(); ++parts) {
    const auto part = in.part();
    if (!part || parts == kMaxParts) return nullptr;
    if (part->type != WireType::kBytes) continue;
    for (std::size_t i = 0; i < message.count; ++i) {
      const Field& field = message.fields[i];
      if (field.number != part->number || !field.alternative) continue;
      if (found != nullptr) return nullptr;
      found = &field;
    }
  }
  return found;
}

// --- JSON ------------------------------------------------------------------------------------------------------------

namespace {

using Json = nlohmann::ordered_json;

Json object_of(const Message& message, const void* from);

Json value_of(const Type& type, const void* from) {
  if (type.word != nullptr) return type.word(from);
  std::string scratch;
  switch (type.kind) {
    case Kind::kBool: return type.load(from) != 0;
    case Kind::kUnsigned: return type.load(from);
    case Kind::kSigned: return static_cast<int64_t>(type.load(from)) / (type.span ? 1'000'000 : 1);
    case Kind::kReal: return std::bit_cast<double>(type.load(from));
    case Kind::kText: return type.length > 0 ? hex(type.view(from, scratch)) : std::string(type.view(from, scratch));
    case Kind::kMessage: return object_of(type.message(), from);
    case Kind::kOptional: return type.size(from) > 0 ? value_of(*type.item, type.at(from, 0)) : Json();
    case Kind::kList: break;
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < type.size(from); ++i) list.push_back(value_of(*type.item, type.at(from, i)));
  return list;
}

Json object_of(const Message& message, const void* from) {
  Json out = Json::object();
  for (std::size_t i = 0; i < message.count; ++i) {
    const Field& field = message.fields[i];
    const void* at = field.locate(const_cast<void*>(from));
    if (at == nullptr && field.alternative) continue;
    std::string_view name = field.name;
    Json* inside = &out;
    for (std::size_t dot = 0; (dot = name.find('.')) != name.npos; name.remove_prefix(dot + 1)) {
      inside = &(*inside)[std::string(name.substr(0, dot))];
    }
    const bool span = (field.type->item != nullptr ? field.type->item : field.type)->span;
    (*inside)[std::string(name) + (span ? "_ms" : "")] = at != nullptr ? value_of(*field.type, at) : Json();
  }
  return out;
}

}  // namespace

std::string to_json(const Message& message, const void* from) {
  return object_of(message, from).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace bellwether::message
