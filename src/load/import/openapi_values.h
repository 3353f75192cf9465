// Values for the parameters and bodies of an OpenAPI document: its examples, its defaults, or invented ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/import/request.h"

namespace bellwether::imports {

class SchemaValues {
 public:
  // Both must outlive this.
  SchemaValues(const Node& document, Draft& draft) : document_(document), draft_(draft) {}

  // The node, or the node that its $ref names. Nullptr, and a warning, for one in another file or none at all.
  const Node* resolve(const Node* node);

  // Of a parameter or of a media type: its example, its first example, or a value of its schema. Texts are templates.
  Node value_of(const Node& holder, std::string_view name);

  // Names of values that no example and no default gave, since the last call.
  std::vector<std::string> take_invented() { return std::move(invented_); }

 private:
  Node make(const Node* schema, const std::string& name, int depth);
  Node make_object(const Node& schema, const std::string& name, int depth);
  void add_properties(const Node& schema, const std::string& name, int depth, Node& out);
  Node make_array(const Node& schema, const std::string& name, int depth);
  Node invent(const Node& schema, std::string_view type, const std::string& name);

  const Node& document_;
  Draft& draft_;
  std::vector<const Node*> open_;  // schemas that are being made, against circles
  std::vector<std::string> invented_;
  std::size_t made_ = 0;
};

// Appends the texts of a value: one for a scalar, one for each element of a list.
void append_texts(const Node& value, std::vector<std::string>& out);
// Appends a value as a text of JSON.
void append_json(const Node& value, std::string& out);

}  // namespace bellwether::imports
