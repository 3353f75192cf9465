// Reads arbitrary bytes as a response, whole, in pieces and with a memory of heads: the outcome is the same, and every
// limit holds.
//
// The input: a byte of options, a byte that chooses the pieces, the response.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/http1/client_reader_testing.h"
#include "core/http1/split_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::http1;
  using State = ResponseReader::State;
  if (size < 2) return 0;
  constexpr uint64_t kLimits[] = {0, 10, 5'000, 1 << 20};
  ReadOptions options;
  options.head_request = (data[0] & 1) != 0;
  options.want_body = (data[0] & 2) != 0;
  options.body_bytes_max = kLimits[(data[0] >> 2) & 3];
  const std::string_view input(reinterpret_cast<const char*>(data + 2), size - 2);

  static BufferPool pool;
  const ReadOutcome whole = read_response(pool, input, options, {});
  // One memory of heads: first of the other kind of request, then of this one, so that the third reading recalls.
  HeadMemory heads;
  ReadOptions remembering = options;
  remembering.heads = &heads;
  remembering.head_request = !options.head_request;
  read_response(pool, input, remembering, {});
  remembering.head_request = options.head_request;
  for (int time = 0; time < 2; ++time) {
    check(read_response(pool, input, remembering, {}) == whole, "what is remembered changes nothing");
  }
  const ReadOutcome split = read_response(pool, input, options, piece_sizes(input.size(), data[1]));
  // What is wrong with a response that never becomes complete may show in another order, but not whether it is wrong.
  check(split.state == whole.state, "the outcome does not depend on the pieces");
  check(whole.state != State::kFailed || whole.error != http1::ErrorKind::kNone, "a failure has a kind");
  if (whole.state != State::kDone) return 0;
  check(split.status == whole.status && split.body == whole.body, "the response does not depend on the pieces");
  check(split.reusable || !whole.reusable, "only bytes behind the response spoil the connection");
  check(whole.body.size() <= options.body_bytes_max, "the limit of the body holds");
  check(whole.status >= 200 && whole.status <= 999, "a status of a final response");
  return 0;
}
