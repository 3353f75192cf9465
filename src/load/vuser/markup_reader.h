// Reads values from an HTML or XML body by XPath 1.0. One a load thread.
#pragma once

#include <memory>
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
  // The text of the first node that the expression gives, or its number, text or truth. False when it gives no node, or
  // takes too long.
  bool find_text(const Expression& expression, std::string& out);
  void close();

 private:
  struct Document;
  std::unique_ptr<Document> document_;
};

// By the media type of a response ("application/rss+xml; charset=utf-8"), or by its beginning.
bool looks_like_xml(std::string_view content_type, std::string_view body);

}  // namespace bellwether::vuser
