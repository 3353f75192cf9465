#include "load/vuser/body_readers.h"

#include <climits>
#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <simdjson.h>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "load/vuser/json_query.h"

namespace bellwether::vuser {

// --- JSON ------------------------------------------------------------------------------------------------------------

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

// --- HTML and XML ----------------------------------------------------------------------------------------------------

namespace {

// The most work of one evaluation, in libxml2's own units; a document of a megabyte needs some hundred thousand.
constexpr unsigned long kMaxWork = 50'000'000;

void ignore(void*, xmlErrorPtr) {}

// Of the scheme that libxml2 hands out strings in.
struct OwnText {
  explicit OwnText(xmlChar* text) : text_(text) {}
  OwnText(const OwnText&) = delete;
  OwnText& operator=(const OwnText&) = delete;
  ~OwnText() { xmlFree(text_); }
  bool assign_to(std::string& out) const {
    if (text_ == nullptr) return false;
    out.assign(reinterpret_cast<const char*>(text_));
    return true;
  }

 private:
  xmlChar* text_;
};

// same-before() and same-after(): how many siblings of the element that is looked at have its name.
template <xmlNodePtr(xmlNode::*kNext)>
void count_same(xmlXPathParserContextPtr parser, int arguments) {
  if (arguments != 0) return xmlXPathErr(parser, XPATH_INVALID_ARITY);
  const xmlNode* const here = parser->context->node;
  double count = 0;
  for (const xmlNode* other = here->*kNext; other != nullptr; other = other->*kNext) {
    const bool same = other->type == XML_ELEMENT_NODE && xmlStrEqual(other->name, here->name) == 1;
    if (same) ++count;
    if (++parser->context->opCount > parser->context->opLimit) return xmlXPathErr(parser, XPATH_OP_LIMIT_EXCEEDED);
  }
  valuePush(parser, xmlXPathNewFloat(count));
}

}  // namespace

struct MarkupReader::Expression::Parts {
  explicit Parts(const std::string& text) : compiled(xmlXPathCompile(reinterpret_cast<const xmlChar*>(text.c_str()))) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() { xmlXPathFreeCompExpr(compiled); }
  xmlXPathCompExprPtr compiled;
};

MarkupReader::Expression::Expression(const std::string& text) : parts_(std::make_unique<Parts>(text)) {}
MarkupReader::Expression::~Expression() = default;

struct MarkupReader::Document {
  explicit Document(xmlDocPtr doc_) : doc(doc_), context(xmlXPathNewContext(doc_)) {
    if (context == nullptr) return;
    context->opLimit = kMaxWork;
    context->error = &ignore;
    xmlXPathRegisterFunc(context, BAD_CAST "same-before", &count_same<&xmlNode::prev>);
    xmlXPathRegisterFunc(context, BAD_CAST "same-after", &count_same<&xmlNode::next>);
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  ~Document() {
    xmlXPathFreeContext(context);
    xmlFreeDoc(doc);
  }
  xmlDocPtr doc;
  xmlXPathContextPtr context;
};

MarkupReader::MarkupReader() = default;
MarkupReader::~MarkupReader() = default;

bool MarkupReader::open(std::string_view body, bool is_xml) {
  document_.reset();
  if (body.empty() || body.size() > INT_MAX) return false;
  const int size = static_cast<int>(body.size());
  constexpr int kXml =
      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA | XML_PARSE_COMPACT;
  constexpr int kHtml =
      HTML_PARSE_RECOVER | HTML_PARSE_NONET | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_COMPACT;
  // Without another declaration it is UTF-8, as nearly all documents are.
  xmlDocPtr doc = is_xml ? xmlReadMemory(body.data(), size, "", nullptr, kXml)
                         : htmlReadMemory(body.data(), size, "", "UTF-8", kHtml);
  if (doc == nullptr) return false;
  document_ = std::make_unique<Document>(doc);
  return document_->context != nullptr;
}

// The result of an expression.
class MarkupReader::Found {
 public:
  Found(Document* document, const Expression& expression) {
    if (document == nullptr || document->context == nullptr || expression.parts_->compiled == nullptr) return;
    document->context->opCount = 0;
    document->context->node = xmlDocGetRootElement(document->doc);
    object_ = xmlXPathCompiledEval(expression.parts_->compiled, document->context);
    if (object_ != nullptr && nodes() != nullptr) xmlXPathNodeSetSort(nodes());
  }
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;
  ~Found() { xmlXPathFreeObject(object_); }

  bool is_there() const { return object_ != nullptr; }
  // REQUIRES is_there().
  std::size_t size() const {
    if (object_->type != XPATH_NODESET) return 1;
    return nodes() == nullptr ? 0 : static_cast<std::size_t>(nodes()->nodeNr);
  }
  // REQUIRES number < size().
  bool text(std::size_t number, std::string& out) const {
    if (object_->type != XPATH_NODESET) return OwnText(xmlXPathCastToString(object_)).assign_to(out);
    return OwnText(xmlNodeGetContent(nodes()->nodeTab[number])).assign_to(out);
  }

 private:
  xmlNodeSetPtr nodes() const { return object_->nodesetval; }
  xmlXPathObjectPtr object_ = nullptr;
};

bool MarkupReader::find_text(const Expression& expression, std::string& out, std::size_t number) {
  const Found found(document_.get(), expression);
  return found.is_there() && number < found.size() && found.text(number, out);
}

std::optional<std::size_t> MarkupReader::count(const Expression& expression) {
  const Found found(document_.get(), expression);
  return found.is_there() ? std::optional(found.size()) : std::nullopt;
}

bool MarkupReader::find_list(const Expression& expression, std::string& out) {
  const Found found(document_.get(), expression);
  if (!found.is_there()) return false;
  out = "[";
  std::string text;
  for (std::size_t i = 0; i < found.size() && out.size() < kMaxListBytes; ++i) {
    if (!found.text(i, text)) continue;
    out += out.size() > 1 ? ",\"" : "\"";
    append_json_text(text, out);
    out += '"';
  }
  out += ']';
  return out.size() <= kMaxListBytes;
}

void MarkupReader::close() { document_.reset(); }

bool looks_like_xml(std::string_view content_type, std::string_view body) {
  const std::string_view type = trim(content_type.substr(0, content_type.find(';')));
  if (iequals(type, "text/html") || iequals(type, "application/xhtml+xml")) return false;
  if (type.size() > 4 && iequals(type.substr(type.size() - 4), "/xml")) return true;
  if (type.size() > 4 && iequals(type.substr(type.size() - 4), "+xml")) return true;
  return trim(body.substr(0, 100)).starts_with("<?xml");
}

}  // namespace bellwether::vuser
