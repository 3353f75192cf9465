#include "core/http1/client_stowed.h"

#include <cstring>

namespace bellwether::http1 {
namespace {

// Visits each text of a head in the order in which they are stowed.
template <class Head, class Visit>
void each_text(Head& head, Visit visit) {
  visit(head.location);
  for (uint16_t i = 0; i < head.field_count; ++i) {
    visit(head.fields[i].name);
    visit(head.fields[i].value);
  }
}

using Length = uint16_t;

}  // namespace

void StowedResponse::take(Response& response) {
  if (response.buffer == nullptr || response.status == 0) return;
  const ResponseHead& head = response.buffer->head;
  std::size_t texts = 0;
  std::size_t bytes = response.body.size();
  each_text(head, [&](std::string_view text) {
    ++texts;
    bytes += text.size();
  });
  if (bytes > kMaxBytes) return;
  static_assert(kMaxBytes <= UINT16_MAX);
  bytes_ = std::make_unique_for_overwrite<char[]>(texts * sizeof(Length) + bytes);
  char* length_at = bytes_.get();
  char* text_at = length_at + texts * sizeof(Length);
  const auto put = [&text_at](std::string_view text) {
    if (!text.empty()) std::memcpy(text_at, text.data(), text.size());
    text_at += text.size();
  };
  each_text(head, [&](std::string_view text) {
    const auto length = static_cast<Length>(text.size());
    std::memcpy(length_at, &length, sizeof length);
    length_at += sizeof length;
    put(text);
  });
  put(response.body);
  facts_ = head;
  fields_ = head.field_count;
  body_ = static_cast<uint32_t>(response.body.size());
  pool_ = response.buffer.get_deleter().pool;
  response.body = {};
  response.buffer.reset();
}

void StowedResponse::restore(Response& response) {
  if (empty()) return;
  response.buffer = pool_->take();
  ResponseHead& head = response.buffer->head;
  static_cast<ResponseFacts&>(head) = facts_;
  head.field_count = fields_;
  const char* length_at = bytes_.get();
  const char* from = length_at + (1 + std::size_t{2} * fields_) * sizeof(Length);
  char* to = response.buffer->bytes.data();
  const auto get = [&from, &to](std::size_t size) {
    std::memcpy(to, from, size);
    const std::string_view text(to, size);
    from += size;
    to += size;
    return text;
  };
  each_text(head, [&](std::string_view& text) {
    Length length = 0;
    std::memcpy(&length, length_at, sizeof length);
    length_at += sizeof length;
    text = get(length);
  });
  response.body = get(body_);
  bytes_.reset();
}

}  // namespace bellwether::http1
