// Reads values from an HTML or XML body by XPath 1.0. One a load thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bellwether::vuser {

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

}  // namespace bellwether::vuser
