#include "wire/out_queue.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace bellwether::wire {
namespace {

constexpr std::size_t kKeep = 256 * 1024;  // capacity that an empty queue keeps

uint32_t remaining_ms(Instant expires, Instant now) {
  const int64_t ms = ((expires - now).ns() + 999'999) / 1'000'000;
  return static_cast<uint32_t>(std::clamp<int64_t>(ms, 1, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

void OutQueue::push(const MessageHeader& header, Instant expires, Bytes body) {
  if (head_ > 0 && head_ >= buffer_.size() - head_) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  const Waiting waiting{header, expires, body.size()};
  const std::size_t at = buffer_.size();
  buffer_.resize(at + sizeof waiting + body.size());
  std::memcpy(buffer_.data() + at, &waiting, sizeof waiting);
  if (!body.empty()) std::memcpy(buffer_.data() + at + sizeof waiting, body.data(), body.size());
}

void OutQueue::drop_front(std::size_t bytes) {
  head_ += bytes;
  sent_ = 0;
  if (head_ != buffer_.size()) return;
  if (buffer_.capacity() > kKeep) {
    buffer_ = {};
  } else {
    buffer_.clear();
  }
  head_ = 0;
}

std::size_t OutQueue::pop_piece(Instant now, MutableBytes out) {
  check(out.size() > kMessageHeaderBytes);
  while (!empty()) {
    Waiting waiting;
    std::memcpy(&waiting, buffer_.data() + head_, sizeof waiting);
    if (sent_ == 0 && waiting.expires <= now) {
      drop_front(sizeof waiting + waiting.size);
      continue;
    }
    const std::size_t left = waiting.size - sent_;
    const std::size_t take = std::min(left, out.size() - kMessageHeaderBytes);
    MessageHeader header = waiting.header;
    if (sent_ > 0) header = {.kind = MessageHeader::Kind::kPiece, .priority = header.priority};
    header.more = take < left;
    if (header.kind == MessageHeader::Kind::kRequest && waiting.expires != Instant::never()) {
      header.timeout_ms = remaining_ms(waiting.expires, now);
    }
    encode_message_header(header, out.data());
    const std::byte* body = buffer_.data() + head_ + sizeof waiting + sent_;
    if (take > 0) std::memcpy(out.data() + kMessageHeaderBytes, body, take);
    if (header.more) {
      sent_ += take;
    } else {
      drop_front(sizeof waiting + waiting.size);
    }
    return kMessageHeaderBytes + take;
  }
  return 0;
}

}  // namespace bellwether::wire
