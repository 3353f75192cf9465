#include "cluster/wire/session.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cluster/wire/big_endian.h"
#include "cluster/wire/frame.h"
#include "cluster/wire/handshake.h"
#include "core/base/check.h"
#include "core/base/encoding.h"

namespace bellwether::wire {

namespace {

constexpr unsigned kPriorityBits = 3;
constexpr unsigned kMoreBit = 4;
constexpr unsigned kCompressedBit = 8;

constexpr std::size_t kKeep = 256 * 1024;  // capacity that an empty queue keeps

uint32_t remaining_ms(Instant expires, Instant now) {
  const int64_t ms = ((expires - now).ns() + 999'999) / 1'000'000;
  return static_cast<uint32_t>(std::clamp<int64_t>(ms, 1, std::numeric_limits<uint32_t>::max()));
}

using MessageKind = MessageHeader::Kind;

constexpr unsigned kSlotBits = 16;
constexpr std::size_t kKeepBuffer = 64 * 1024;  // of a buffer for rare big messages
// Messages that cannot be refused (answers without a body, pongs) may exceed the bytes of their class by this.
constexpr std::size_t kMaxBare = 512 * 1024;

std::size_t slot_of(RequestId id) { return id & ((1U << kSlotBits) - 1); }

void shrink(std::vector<std::byte>& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeepBuffer) buffer = {};
}

}  // namespace

std::string encode_busy(Duration again_after, std::string_view why) {
  const Duration within = std::clamp(again_after, Duration::zero(), kMaxAgainAfter);
  std::array<std::byte, 4> head;
  store_be(head.data(), static_cast<uint32_t>((within + Duration::nanos(999'999)).ms()));
  std::string body(as_text(head));
  body += why.substr(0, kMaxBusyText);
  return body;
}

Busy decode_busy(Bytes body) {
  if (body.size() < 4) return {};
  const Duration again_after = Duration::millis(load_be<uint32_t>(body.data()));
  const std::string_view why = as_text(body.subspan(4)).substr(0, kMaxBusyText);
  return {std::min(again_after, kMaxAgainAfter), printable(why)};
}

void encode_message_header(const MessageHeader& header, std::byte* to) {
  const unsigned flags = static_cast<unsigned>(header.priority) | (header.more ? kMoreBit : 0U) |
                         (header.compressed ? kCompressedBit : 0U);
  to[0] = static_cast<std::byte>(header.kind);
  to[1] = static_cast<std::byte>(flags);
  store_be(to + 2, header.type);
  store_be(to + 4, header.id);
  store_be(to + 12, header.timeout_ms);
}

bool decode_message_header(const std::byte* from, MessageHeader& header) {
  const auto kind = std::to_integer<unsigned>(from[0]);
  const auto flags = std::to_integer<unsigned>(from[1]);
  if (kind < 1 || kind > 8 || flags > (kPriorityBits | kMoreBit | kCompressedBit)) return false;
  header.kind = static_cast<MessageHeader::Kind>(kind);
  header.priority = static_cast<Priority>(flags & kPriorityBits);
  header.more = (flags & kMoreBit) != 0;
  header.compressed = (flags & kCompressedBit) != 0;
  header.type = load_be<uint16_t>(from + 2);
  header.id = load_be<uint64_t>(from + 4);
  header.timeout_ms = load_be<uint32_t>(from + 12);
  return true;
}

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

Session::Session(const SessionLimits& limits, uint32_t peer_takes, Instant now) : limits_(limits), heard_(now) {
  limits_.asking_max = std::min({limits_.asking_max, peer_takes, kMaxRequests});
  limits_.serving_max = std::min(limits_.serving_max, kMaxRequests);
}

bool Session::fits(Priority priority, std::size_t bytes) const {
  const auto i = static_cast<std::size_t>(priority);
  return queues_[i].empty() || queues_[i].size() + bytes <= limits_.queued_max[i];
}

Status Session::queue(MessageHeader header, Instant expires, Bytes body, bool compress) {
  deflated_.clear();
  if (compress && deflate_body(body, limits_.body, deflated_)) {
    header.compressed = true;
    body = deflated_;
  }
  if (body.size() > limits_.body.compressed) {
    return fail(Errc::kTooLarge, "a message of {} bytes exceeds the limit of {}", body.size(), limits_.body.compressed);
  }
  if (!fits(header.priority, body.size())) {
    return fail(Errc::kExhausted, "the send queue of this connection is full; the other end reads too slowly");
  }
  queues_[static_cast<std::size_t>(header.priority)].push(header, expires, body);
  if (deflated_.capacity() > kKeepBuffer) deflated_ = {};
  return {};
}

void Session::queue_bare(MessageKind kind, Priority priority, RequestId id, uint16_t type) {
  const auto i = static_cast<std::size_t>(priority);
  if (queues_[i].size() > limits_.queued_max[i] + kMaxBare) {
    overrun_ = true;
    return;
  }
  queues_[i].push({.kind = kind, .priority = priority, .type = type, .id = id}, Instant::never(), {});
}

Result<RequestId> Session::request(Instant deadline, const Outgoing& message, void* context) {
  if (closing_) return fail(Errc::kClosed, "this connection is closing and accepts no new requests");
  if (free_.empty() && slots_.size() == limits_.asking_max) {
    return fail(Errc::kExhausted, "this connection has as many open requests as the other end permits");
  }
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::size_t slot = free_.back();
  const RequestId id = (sequence_ + 1) << kSlotBits | slot;
  BW_RETURN_IF_ERROR(
      queue({.kind = MessageKind::kRequest, .priority = message.priority, .type = message.type, .id = id}, deadline,
            message.body, message.compress));
  free_.pop_back();
  ++sequence_;
  ++asking_;
  slots_[slot] = {id, deadline, context};
  earliest_ = std::min(earliest_, deadline);
  return id;
}

bool Session::respond(RequestId id, ReplyStatus status, Bytes body, bool compress) {
  const std::size_t slot = slot_of(id);
  if (id == 0 || slot >= served_.size() || served_[slot].id != id) return false;
  const Priority priority = served_[slot].priority;
  served_[slot].id = 0;
  --serving_;
  const MessageHeader header{
      .kind = MessageKind::kResponse, .priority = priority, .type = static_cast<uint16_t>(status), .id = id};
  if (queue(header, Instant::never(), body, compress)) return true;
  queue_bare(MessageKind::kResponse, priority, id, static_cast<uint16_t>(ReplyStatus::kBusy));
  return true;
}

Status Session::send(const Outgoing& message) {
  return queue({.kind = MessageKind::kOneWay, .priority = message.priority, .type = message.type}, Instant::never(),
               message.body, message.compress);
}

void Session::release(std::size_t slot) {
  slots_[slot] = {};
  free_.push_back(static_cast<uint32_t>(slot));
  --asking_;
  if (asking_ == 0) earliest_ = Instant::never();
}

bool Session::cancel(RequestId id) {
  const std::size_t slot = slot_of(id);
  if (id == 0 || slot >= slots_.size() || slots_[slot].id != id) return false;
  release(slot);
  queue_bare(MessageKind::kCancel, Priority::kControl, id);
  return true;
}

// In the last class, so that it comes behind all earlier messages.
void Session::say_goodbye() {
  if (closing_) return;
  closing_ = true;
  queue_bare(MessageKind::kGoodbye, Priority::kBulk, 0);
}

void Session::show_life() { queue_bare(MessageKind::kPing, Priority::kLeadership, 0); }

Refusal Session::receive(Instant now, Bytes text, Inbound& inbound) {
  inbound = {};
  heard_ = now;
  asked_for_life_ = false;
  shrink(inflated_);
  MessageHeader header;
  if (text.size() < kMessageHeaderBytes) return Refusal::kTruncated;
  if (!decode_message_header(text.data(), header)) return Refusal::kGarbage;
  MessageHeader whole;
  Bytes body;
  bool complete = false;
  const Refusal assembled = assemble(header, text.subspan(kMessageHeaderBytes), whole, body, complete);
  if (assembled != Refusal::kNone || !complete) return assembled;
  if (whole.compressed) {
    const Refusal inflated = inflate_body(body, limits_.body, inflated_);
    if (inflated != Refusal::kNone) return inflated;
    body = inflated_;
  }
  return deliver(now, whole, body, inbound);
}

// Assembles pieces. The common message has one, and is not copied.
Refusal Session::assemble(const MessageHeader& header, Bytes piece, MessageHeader& whole, Bytes& body, bool& complete) {
  Unfinished& unfinished = unfinished_[static_cast<std::size_t>(header.priority)];
  const bool goes_on = header.kind == MessageKind::kPiece;
  if (goes_on != unfinished.open) return Refusal::kUnexpected;
  if (!goes_on && !header.more) {
    if (unfinished.body.capacity() > 0) shrink(unfinished.body);
    whole = header;
    body = piece;
    complete = true;
    return Refusal::kNone;
  }
  // A piece without bytes, before the last one, would go on for ever.
  if (piece.empty()) return Refusal::kGarbage;
  if (!goes_on) {
    shrink(unfinished.body);
    unfinished.first = header;
    unfinished.open = true;
  }
  if (unfinished.body.size() + piece.size() > limits_.body.compressed) return Refusal::kOversized;
  unfinished.body.insert(unfinished.body.end(), piece.begin(), piece.end());
  if (header.more) return Refusal::kNone;
  unfinished.open = false;
  whole = unfinished.first;
  body = unfinished.body;
  complete = true;
  return Refusal::kNone;
}

Refusal Session::deliver(Instant now, const MessageHeader& header, Bytes body, Inbound& inbound) {
  inbound.priority = header.priority;
  inbound.type = header.type;
  inbound.id = header.id;
  inbound.body = body;
  switch (header.kind) {
    case MessageKind::kRequest: return take_request(now, header, inbound);
    case MessageKind::kResponse: take_response(header, inbound); break;
    case MessageKind::kOneWay: inbound.kind = Inbound::Kind::kOneWay; break;
    case MessageKind::kCancel: take_cancel(header, inbound); break;
    case MessageKind::kPing: queue_bare(MessageKind::kPong, Priority::kLeadership, 0); break;
    case MessageKind::kPong: break;
    case MessageKind::kGoodbye:
      peer_closing_ = true;
      say_goodbye();
      inbound.kind = Inbound::Kind::kGoodbye;
      break;
    case MessageKind::kPiece: return Refusal::kGarbage;  // as the first of a message
  }
  return Refusal::kNone;
}

Refusal Session::take_request(Instant now, const MessageHeader& header, Inbound& inbound) {
  const std::size_t slot = slot_of(header.id);
  if (header.id >> kSlotBits == 0) return Refusal::kGarbage;
  if (slot >= limits_.serving_max) {
    queue_bare(MessageKind::kResponse, header.priority, header.id, static_cast<uint16_t>(ReplyStatus::kBusy));
    return Refusal::kNone;
  }
  if (slot >= served_.size()) served_.resize(slot + 1);
  Served& served = served_[slot];
  // Given up before it came: a cancellation, or a request that uses the slot again, was more urgent and overtook it.
  if (header.id <= served.highest) return Refusal::kNone;
  if (served.id == 0) ++serving_;
  served = {header.id, header.id, header.priority};
  inbound.kind = Inbound::Kind::kRequest;
  if (header.timeout_ms != 0) inbound.deadline = now + Duration::millis(header.timeout_ms);
  return Refusal::kNone;
}

void Session::take_response(const MessageHeader& header, Inbound& inbound) {
  const std::size_t slot = slot_of(header.id);
  if (header.id == 0 || slot >= slots_.size() || slots_[slot].id != header.id) return;
  inbound.kind = Inbound::Kind::kResponse;
  inbound.status = static_cast<ReplyStatus>(header.type);
  inbound.context = slots_[slot].context;
  release(slot);
}

void Session::take_cancel(const MessageHeader& header, Inbound& inbound) {
  const std::size_t slot = slot_of(header.id);
  if (slot >= limits_.serving_max) return;
  if (slot >= served_.size()) served_.resize(slot + 1);
  Served& served = served_[slot];
  if (served.id == header.id && header.id != 0) {
    served.id = 0;
    --serving_;
    inbound.kind = Inbound::Kind::kCancelled;
  }
  served.highest = std::max(served.highest, header.id);
}

bool Session::wants_to_send() const {
  return std::any_of(queues_.begin(), queues_.end(), [](const OutQueue& queue) { return !queue.empty(); });
}

std::size_t Session::queued_bytes() const {
  std::size_t bytes = 0;
  for (const OutQueue& queue : queues_) bytes += queue.size();
  return bytes;
}

std::size_t Session::next_frame(Instant now, MutableBytes out) {
  for (OutQueue& queue : queues_) {
    const std::size_t size = queue.empty() ? 0 : queue.pop_piece(now, out.first(std::min(out.size(), kMaxStreamText)));
    if (size > 0) return size;
  }
  return 0;
}

bool Session::next_expired(Instant now, Expired& expired) {
  if (earliest_ > now) return false;
  Instant earliest = Instant::never();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].id == 0) continue;
    if (slots_[slot].deadline <= now) {
      expired = {slots_[slot].id, slots_[slot].context};
      cancel(expired.id);
      return true;
    }
    earliest = std::min(earliest, slots_[slot].deadline);
  }
  earliest_ = earliest;
  return false;
}

bool Session::take_any(Expired& taken) {
  for (std::size_t slot = 0; asking_ > 0 && slot < slots_.size(); ++slot) {
    if (slots_[slot].id == 0) continue;
    taken = {slots_[slot].id, slots_[slot].context};
    release(slot);
    return true;
  }
  return false;
}

bool Session::keep_alive(Instant now) {
  if (limits_.give_up == Duration::zero()) return true;
  if (now >= heard_ + limits_.give_up) return false;
  if (!asked_for_life_ && now >= heard_ + limits_.quiet) {
    asked_for_life_ = true;
    show_life();
  }
  return true;
}

Instant Session::next_deadline() const {
  if (limits_.give_up == Duration::zero()) return earliest_;
  const Instant life = heard_ + (asked_for_life_ ? limits_.give_up : limits_.quiet);
  return std::min(earliest_, life);
}

}  // namespace bellwether::wire
