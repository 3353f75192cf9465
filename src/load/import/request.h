// What all formats are read into: requests whose texts are templates of a scenario. The rest is common to all of them:
// hiding secrets, naming steps, and writing the scenario.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/yaml/node.h"
#include "load/import/import.h"

namespace bellwether::imports {

// JSON as the same tree that YAML gives, with the place of each value.

using yaml::Node;

// Whether the value of `key` is left out, in an object that is the value of `parent`.
using Skip = bool (*)(std::string_view parent, std::string_view key);

// Parses a JSON text whose root is an object or an array. Strings are quoted scalars, numbers and truth values are
// unquoted ones as they were written. Errors, and more than kMaxJsonNodes values or yaml::kMaxDepth levels, go to
// `diagnostics`.
std::optional<Node> parse_json(std::string_view text, yaml::Diagnostics& diagnostics, Skip skip = nullptr);

constexpr std::size_t kMaxJsonNodes = 2'000'000;

// The member of this name of a map, or nullptr.
const Node* find(const Node* node, std::string_view key);
// Its items; empty unless it is a map or a list.
std::span<const Node> items_at(const Node* node, std::string_view key);
// Its text; empty unless it is a scalar.
std::string_view text_at(const Node* node, std::string_view key);

struct Field {
  std::string name;
  std::string value;
  bool operator==(const Field&) const = default;
};
using Fields = std::vector<Field>;

struct Auth {
  std::string scheme;  // a key of `auth`: basic, digest, bearer
  std::string user;    // basic, digest
  std::string secret;
  bool operator==(const Auth&) const = default;
};

// Of a form in multipart/form-data.
struct Part {
  Field field;  // of a file: its path
  bool is_file = false;
  std::string filename;  // empty: none, or that of the file
  std::string type;      // empty: the default of multipart
};

struct Body {
  enum class Kind : unsigned char { kNone, kText, kJson, kForm, kMultipart, kFile };
  Kind kind = Kind::kNone;
  std::string text;  // kText; kFile: the path
  Node json;
  Fields form;
  std::vector<Part> parts;  // kMultipart
};

// All texts but `method` and `options` are templates: a literal "${" is "$${".
struct Request {
  std::string name;  // wanted; empty: made of the method and the URL
  std::string group;
  std::vector<std::string> comments;
  std::string method = "GET";
  std::string url;
  Fields query;  // in addition to that in the URL
  Fields headers;
  std::vector<std::string> secrets;  // names of fields that hold one, whatever their names say
  Body body;
  std::optional<Auth> auth;
  Fields options;      // other keys of `http`, their values as YAML
  std::string status;  // the value of a check on the status, as YAML; empty: none
  Duration think;
};

struct Draft {
  explicit Draft(const Source& source) : name(source.name), diagnostics(source.name) {}

  std::string name;
  std::string base;  // of the URLs that begin with '/'; empty: the most frequent origin of absolute URLs becomes it
  // Names of `env`. Without a value: the user sets it.
  struct Variable {
    std::string name;
    std::optional<std::string> value;
    std::string comment;
  };
  std::vector<Variable> variables;
  std::vector<Request> requests;
  std::vector<std::string> warnings;
  yaml::Diagnostics diagnostics;
  bool is_public = false;  // its values are examples for all readers: none is a secret

  // Adds the variable unless it is there.
  void need(const std::string& name, std::optional<std::string> value, std::string comment);
};

// The template that stands for exactly this text.
std::string literal(std::string_view text);
// Its opposite; nothing if the template has an expression.
std::optional<std::string> plain(std::string_view text);

// The value of a header, or nullptr. Case makes no difference.
Field* header_of(Request& request, std::string_view name);
// Adds a header; one that is there already gets both values.
void add_header(Request& request, std::string_view name, std::string value);
// Whether a request can have a header of this name; if not, or if it must not come from a scenario, a warning says so.
bool can_send(Draft& draft, std::string_view name);

// Gives the request this body in the most readable form that sends the same. `text`: a template. Drops a Content-Type
// that the form implies.
void set_body(Request& request, std::string text);

// Gives the request a body of these parts, and drops its Content-Type.
void set_parts(Request& request, std::vector<Part> parts);

// "a=1&b=2" decoded. Nothing when encoding the fields again would not mean the same.
std::optional<Fields> split_form(std::string_view text);

// Takes the fragment and the user's name and password out of the URL, and gives it a path.
void clean_url(Request& request);

// A name for a value of `env`: "x-apiKey" is X_API_KEY.
std::string variable_name(std::string_view name);

// Whether a field of this name holds a secret.
bool is_secret(std::string_view name);
// Replaces secrets of all requests by names of `env`. With `keep`, these have the values.
void hide_secrets(Draft& draft, bool keep);

// The whole scenario; the errors of the draft if it has any.
Import finish(Draft& draft, const Choices& choices);

}  // namespace bellwether::imports
