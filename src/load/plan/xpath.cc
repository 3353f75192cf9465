#include "load/plan/xpath.h"

#include <libxml/xmlerror.h>
#include <libxml/xpath.h>
#include <memory>

#include "core/base/bytes.h"

namespace bellwether::plan {
namespace {

constexpr std::size_t kExpressionBytesMax = 16384;

void note(void* context, xmlErrorPtr error) {
  auto* text = static_cast<std::string*>(context);
  if (text->empty() && error != nullptr && error->message != nullptr) *text = std::string(trim(error->message));
}

}  // namespace

Status check_xpath(const std::string& expression) {
  if (expression.size() > kExpressionBytesMax) return fail(Errc::kTooLarge, "an expression has at most 16384 bytes");
  std::string problem;
  const std::unique_ptr<xmlXPathContext, void (*)(xmlXPathContext*)> context(
      xmlXPathNewContext(nullptr), [](xmlXPathContext* one) { xmlXPathFreeContext(one); });
  if (context == nullptr) return fail(Errc::kExhausted, "there is no memory left");
  context->error = &note;
  context->userData = &problem;
  const std::unique_ptr<xmlXPathCompExpr, void (*)(xmlXPathCompExpr*)> compiled(
      xmlXPathCtxtCompile(context.get(), reinterpret_cast<const xmlChar*>(expression.c_str())),
      [](xmlXPathCompExpr* one) { xmlXPathFreeCompExpr(one); });
  if (compiled != nullptr && problem.empty()) return {};
  return fail(Errc::kInvalid, problem.empty() ? "it is not valid" : problem);
}

}  // namespace bellwether::plan
