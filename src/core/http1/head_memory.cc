#include "core/http1/head_memory.h"

#include <cstring>

namespace bellwether::http1 {

Parse HeadMemory::parse(std::string_view input, bool head_request, std::size_t& scan_from, ResponseHead& out,
                        std::size_t& consumed, const char*& reason) {
  if (is_known(input, head_request)) {
    recall(input, out);
    consumed = size_;
    misses_ = 0;
    return Parse::kDone;
  }
  const Parse parsed = parse_response_head(input, head_request, scan_from, out, consumed, reason);
  if (parsed == Parse::kDone && misses_++ % kMissesBetween < kMissesInARow) {
    remember(input.substr(0, consumed), head_request, out);
  }
  return parsed;
}

bool HeadMemory::is_known(std::string_view input, bool head_request) const {
  return size_ != 0 && input.size() >= size_ && head_request == head_request_ &&
         std::memcmp(input.data(), bytes_.data(), size_) == 0;
}

void HeadMemory::recall(std::string_view input, ResponseHead& out) const {
  const auto view = [input](Place place) { return std::string_view(input.data() + place.at, place.size); };
  static_cast<ResponseFacts&>(out) = facts_;
  out.location = view(location_);
  out.field_count = field_count_;
  for (uint16_t i = 0; i < field_count_; ++i) out.fields[i] = {view(fields_[i][0]), view(fields_[i][1])};
}

void HeadMemory::remember(std::string_view head, bool head_request, const ResponseHead& read) {
  if (head.size() > kMaxBytes || read.field_count > kMaxFields) return;
  const auto place = [head](std::string_view part) {
    const std::size_t at = part.empty() ? 0 : static_cast<std::size_t>(part.data() - head.data());
    return Place{static_cast<uint16_t>(at), static_cast<uint16_t>(part.size())};
  };
  std::memcpy(bytes_.data(), head.data(), head.size());
  size_ = static_cast<uint16_t>(head.size());
  head_request_ = head_request;
  facts_ = read;
  location_ = place(read.location);
  field_count_ = read.field_count;
  for (uint16_t i = 0; i < field_count_; ++i) fields_[i] = {place(read.fields[i].name), place(read.fields[i].value)};
}

}  // namespace bellwether::http1
