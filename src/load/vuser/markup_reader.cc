#include "load/vuser/markup_reader.h"

#include <climits>
#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

namespace bellwether::vuser {
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
