// Reads arbitrary bytes as a request, whole and in pieces: the same request, or refused both times.
//
// The input: a byte that chooses the pieces, the request.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/http1/head.h"
#include "core/http1/split_testing.h"

namespace bellwether::http1 {
namespace {

void check_head(const RequestHead& head, std::string_view input, std::size_t consumed) {
  check(consumed <= input.size() && consumed <= RequestHead::kMaxBytes, "within the input and the limit");
  const auto inside = [&](std::string_view part) {
    return part.empty() || (part.data() >= input.data() && part.data() + part.size() <= input.data() + consumed);
  };
  check(!head.method.empty() && inside(head.method) && inside(head.target) && inside(head.query), "views of the input");
  check(!head.target.empty() && !head.path.empty(), "there is always a path");
  for (uint16_t i = 0; i < head.field_count; ++i) {
    check(inside(head.fields[i].name) && inside(head.fields[i].value), "views of the input");
    check(head.fields[i].value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos, "one line each");
  }
  check((head.framing == RequestHead::Framing::kLength) == (head.content_length != 0),
        "a length where there is a body");
}

}  // namespace
}  // namespace bellwether::http1

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::http1;
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const char* reason = nullptr;
  RequestHead whole;
  std::size_t whole_consumed = 0;
  std::size_t scan_from = 0;
  const Parse outcome = parse_request_head(input, scan_from, whole, whole_consumed, reason);
  check((outcome == Parse::kBad || outcome == Parse::kTooLarge) == (reason != nullptr), "a refusal says why");

  RequestHead split;
  std::size_t split_consumed = 0;
  std::size_t have = 0;
  scan_from = 0;
  Parse state = Parse::kMore;
  for (const std::size_t piece : piece_sizes(input.size(), data[0])) {
    have += piece;
    state = parse_request_head(input.substr(0, have), scan_from, split, split_consumed, reason);
    if (state != Parse::kMore) break;
  }
  // What is wrong with a head that is not complete may be found sooner or later.
  check((state == Parse::kDone) == (outcome == Parse::kDone), "the outcome does not depend on the pieces");
  if (outcome == Parse::kMore) check(state == Parse::kMore, "nothing is wrong with it so far");
  if (outcome != Parse::kDone) return 0;
  check_head(whole, input, whole_consumed);
  check(split_consumed == whole_consumed && split.method == whole.method && split.target == whole.target &&
            split.path == whole.path && split.query == whole.query && split.framing == whole.framing &&
            split.content_length == whole.content_length && split.keep_alive == whole.keep_alive &&
            split.expect_continue == whole.expect_continue && split.field_count == whole.field_count,
        "the request does not depend on the pieces");
  return 0;
}
