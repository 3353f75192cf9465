#include "cluster/copies/copy_codec.h"

#include <cstring>
#include <utility>

#include "base/printable.h"
#include "proto/copies.pb.h"

namespace bellwether::copies {
namespace {

constexpr std::size_t kBytesMost = kPieceBytes + 64 * 1024;
constexpr uint64_t kHighestFence = UINT64_MAX / 2;

// --- writing ---------------------------------------------------------------------------------------------------------

void put(const CopyKey& from, wire::CopyKey& to) {
  to.set_job(from.job);
  to.set_kind(from.kind);
}

void put(const Version& from, wire::CopyVersion& to) {
  to.set_fence(from.fence.value());
  to.set_number(from.number);
}

void put(const CopyHead& from, wire::CopyHead& to) {
  put(from.version, *to.mutable_version());
  to.set_size(from.size);
  for (const wire::Digest& digest : from.pieces) to.add_pieces(digest.data(), digest.size());
}

struct Writer {
  wire::CopyQuestion& to;

  void operator()(const Look& from) const {
    auto& look = *to.mutable_look();
    put(from.key, *look.mutable_key());
    look.set_fence(from.fence.value());
  }
  void operator()(const Offer& from) const {
    auto& offer = *to.mutable_offer();
    put(from.key, *offer.mutable_key());
    put(from.head, *offer.mutable_head());
    offer.set_again(from.again);
  }
  void operator()(const Piece& from) const {
    auto& piece = *to.mutable_piece();
    put(from.key, *piece.mutable_key());
    put(from.version, *piece.mutable_version());
    piece.set_index(from.index);
    piece.set_again(from.again);
    piece.set_bytes(from.bytes);
  }
  void operator()(const Fetch& from) const {
    auto& fetch = *to.mutable_fetch();
    put(from.key, *fetch.mutable_key());
    put(from.version, *fetch.mutable_version());
    fetch.set_index(from.index);
  }
  void operator()(const Drop& from) const {
    to.mutable_drop()->set_job(from.job);
    to.mutable_drop()->set_leftover(from.leftover);
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads, and remembers what was wrong.
class Reader {
 public:
  const char* wrong = nullptr;

  std::string job(const std::string& from) {
    if (from.empty() || from.size() > dispatch::kMostKeyBytes) wrong = "a job out of its bounds";
    return from;
  }
  CopyKey key(const wire::CopyKey& from) {
    CopyKey out{from.job(), from.kind()};
    if (!check_key(out)) wrong = "a key out of its bounds";
    return out;
  }
  JobFence fence(uint64_t from) {
    if (from > kHighestFence) wrong = "a fence out of its bounds";
    return JobFence(from);
  }
  Version version(const wire::CopyVersion& from) { return {fence(from.fence()), from.number()}; }
  uint32_t index(uint32_t from) {
    if (from >= kMostPieces) wrong = "a piece out of its bounds";
    return from;
  }
  std::string piece(std::string from) {
    if (from.size() > kPieceBytes) wrong = "a piece that is too long";
    return from;
  }
  // Of an answer that names a version only, the value has no pieces.
  CopyHead head(const wire::CopyHead& from, bool whole) {
    CopyHead out;
    out.version = version(from.version());
    out.size = from.size();
    const auto pieces = static_cast<std::size_t>(from.pieces_size());
    if (out.size > kMostCopyBytes || pieces > kMostPieces || (whole && pieces != pieces_of(out.size))) {
      wrong = "a value out of its bounds";
      return out;
    }
    for (const std::string& digest : from.pieces()) {
      if (digest.size() != sizeof(wire::Digest)) {
        wrong = "a digest of another length";
        return out;
      }
      std::memcpy(out.pieces.emplace_back().data(), digest.data(), digest.size());
    }
    return out;
  }
};

Result<Question> read_body(const wire::CopyQuestion& in, Reader& reader) {
  using Case = wire::CopyQuestion::BodyCase;
  switch (in.body_case()) {
    case Case::kLook: return Look{reader.key(in.look().key()), reader.fence(in.look().fence())};
    case Case::kOffer:
      return Offer{reader.key(in.offer().key()), reader.head(in.offer().head(), true), in.offer().again()};
    case Case::kPiece:
      return Piece{reader.key(in.piece().key()), reader.version(in.piece().version()), reader.index(in.piece().index()),
                   in.piece().again(), reader.piece(in.piece().bytes())};
    case Case::kFetch:
      return Fetch{reader.key(in.fetch().key()), reader.version(in.fetch().version()),
                   reader.index(in.fetch().index())};
    case Case::kDrop: return Drop{reader.job(in.drop().job()), in.drop().leftover()};
    case Case::BODY_NOT_SET: break;
  }
  return fail(Errc::kUnsupported, "a question about copies of a kind that is not known");
}

template <class Message>
bool parse(std::string_view bytes, Message& message) {
  return bytes.size() <= kBytesMost && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

std::string encode_question(const Asked& asked) {
  wire::CopyQuestion out;
  out.set_peers(asked.peers);
  std::visit(Writer{out}, asked.question);
  return out.SerializeAsString();
}

Result<Asked> decode_question(std::string_view bytes) {
  wire::CopyQuestion in;
  if (!parse(bytes, in)) return fail(Errc::kProtocol, "a question about copies that cannot be read");
  Reader reader;
  auto body = read_body(in, reader);
  if (!body) return tl::unexpected(body.error());
  if (reader.wrong != nullptr)
    return fail(Errc::kProtocol, std::string("a question about copies with ") + reader.wrong);
  return Asked{in.peers(), std::move(*body)};
}

std::string encode_answer(const Answer& answer) {
  wire::CopyAnswer out;
  out.set_verdict(static_cast<uint32_t>(answer.verdict));
  put(answer.head, *out.mutable_head());
  for (const uint32_t index : answer.wanted) out.add_wanted(index);
  out.set_bytes(answer.bytes);
  out.set_fence(answer.fence.value());
  out.set_why(printable(answer.why).substr(0, kMostWhyBytes));
  return out.SerializeAsString();
}

Result<Answer> decode_answer(std::string_view bytes) {
  wire::CopyAnswer in;
  if (!parse(bytes, in)) return fail(Errc::kProtocol, "an answer about copies that cannot be read");
  Reader reader;
  Answer out;
  // A refusal of a newer version is one all the same.
  out.verdict = in.verdict() < kVerdicts ? static_cast<Verdict>(in.verdict()) : Verdict::kUnable;
  out.head = reader.head(in.head(), out.verdict == Verdict::kKept);
  if (static_cast<std::size_t>(in.wanted_size()) > kMostPieces) reader.wrong = "too many pieces";
  for (const uint32_t index : in.wanted()) out.wanted.push_back(reader.index(index));
  out.bytes = reader.piece(std::move(*in.mutable_bytes()));
  out.fence = reader.fence(in.fence());
  out.why = printable(in.why()).substr(0, kMostWhyBytes);
  if (reader.wrong != nullptr) return fail(Errc::kProtocol, std::string("an answer about copies with ") + reader.wrong);
  return out;
}

std::string encode_record(const CopyRecord& record) {
  wire::CopyRecord out;
  put(record.key, *out.mutable_key());
  put(record.head, *out.mutable_head());
  out.set_slot(record.slot);
  return out.SerializeAsString();
}

Result<CopyRecord> decode_record(std::string_view bytes) {
  wire::CopyRecord in;
  if (!parse(bytes, in)) return fail(Errc::kInvalid, "a record of a copy that cannot be read");
  Reader reader;
  CopyRecord out{reader.key(in.key()), reader.head(in.head(), true), in.slot()};
  if (reader.wrong != nullptr) return fail(Errc::kInvalid, std::string("a record of a copy with ") + reader.wrong);
  return out;
}

}  // namespace bellwether::copies
