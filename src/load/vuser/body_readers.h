// The readers of response bodies: values of JSON by paths, and of HTML and XML by XPath. One of each a load thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "load/plan/plan.h"

namespace bellwether::vuser {

// Finds values of a JSON document by their paths, on the hot path: it reads the document only up to the requested
// values, and does not validate the rest. Paths that may name several values need all of it. Wraps simdjson.
class JsonReader {
 public:
  // Bytes that must be readable (of any content) behind the text given to open().
  static constexpr std::size_t kPadding = 64;

  JsonReader();
  ~JsonReader();

  // Starts with a new document. `text` must stay unchanged until the next open(), with kPadding bytes readable behind
  // it. False when it is no JSON at all.
  bool open(std::string_view text);
  // Whether all of the document is JSON.
  bool valid();

  // A value for checks and templates. Text points into the reader until the next find().
  struct Null {};
  struct Compound {};  // an object or array
  using Value = std::variant<std::monostate /* not there */, std::string_view, double, bool, Null, Compound>;
  // The first value of a path that may name several.
  Value find(const plan::JsonPath& path);

  // The value as text: a string without quotes, any other value as in the document. False when it is missing. `number`:
  // which value, from 0, of a path that may name several.
  bool find_text(const plan::JsonPath& path, std::string& out, std::size_t number = 0);

  // The number of values of a path that may name several; nothing when the document is not valid, or the search takes
  // too long.
  std::optional<std::size_t> count(const plan::JsonPath& path);
  // They as a JSON list. False as above, and for a list of more than JsonQueries::kMaxListBytes.
  bool find_list(const plan::JsonPath& path, std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads values from an HTML or XML body by XPath 1.0. Wraps libxml2.
class MarkupReader {
 public:
  // An expression, prepared once. REQUIRES that it is one (plan::check_xpath).
  class Expression {
   public:
    explicit Expression(const std::string& text);
    ~Expression();
    Expression(const Expression&) = delete;
    Expression& operator=(const Expression&) = delete;

   private:
    friend class MarkupReader;
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };

  MarkupReader();
  ~MarkupReader();
  MarkupReader(const MarkupReader&) = delete;
  MarkupReader& operator=(const MarkupReader&) = delete;

  // Reads a document for the following calls of find_text(); `is_xml`: not as HTML, which forgives everything. False
  // when it is none. It never reads other resources.
  bool open(std::string_view body, bool is_xml);
  // The text of a node that the expression gives, from 0, or its number, text or truth. False when it gives no such
  // node, or takes too long.
  bool find_text(const Expression& expression, std::string& out, std::size_t number = 0);
  // The number of its nodes, 1 for another result; nothing when it takes too long.
  std::optional<std::size_t> count(const Expression& expression);
  // All its texts as a JSON list of at most kMaxListBytes. False when that takes too long or is too long.
  bool find_list(const Expression& expression, std::string& out);
  static constexpr std::size_t kMaxListBytes = 16u << 20;
  void close();

 private:
  struct Document;
  class Found;
  std::unique_ptr<Document> document_;
};

// By the media type of a response ("application/rss+xml; charset=utf-8"), or by its beginning.
bool looks_like_xml(std::string_view content_type, std::string_view body);

// The readers of one load thread.
struct BodyReaders {
  JsonReader json;
  MarkupReader markup;
};

}  // namespace bellwether::vuser
