#include "core/message/to_json.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "core/base/encoding.h"
#include "core/message/description.h"

namespace bellwether::message {
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
