#include "cluster/jobs/job_codec.h"

#include <utility>

#include "base/printable.h"
#include "proto/jobs.pb.h"

namespace bellwether::jobs {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace): the words of the kernels are this file's subject

constexpr std::size_t kBytesMost = kMostValueBytes + 4096;
// So that there is always a next one.
constexpr uint64_t kHighestFence = UINT64_MAX / 2;
constexpr uint32_t kVerdicts = static_cast<uint32_t>(Verdict::kUnable) + 1;

// --- writing ---------------------------------------------------------------------------------------------------------

void put(const Claim& from, wire::JobClaim& to) {
  to.set_fence(from.fence.value());
  to.set_owner(from.owner.value());
  to.set_nonce(from.nonce);
}

void put(const Place& from, wire::JobPlace& to) {
  to.set_fence(from.fence.value());
  to.set_write(from.write);
}

struct BodyWriter {
  wire::JobMessage::Ask& to;

  void operator()(const Prepare& from) const {
    put(from.claim, *to.mutable_claim());
    to.mutable_prepare();
  }
  void operator()(const Accept& from) const {
    put(from.claim, *to.mutable_claim());
    to.mutable_accept()->set_number(from.place.write);
    to.mutable_accept()->set_value(from.value);
  }
  void operator()(const Confirm& from) const {
    put(from.claim, *to.mutable_claim());
    to.mutable_confirm();
  }
  void operator()(const Release& from) const {
    put(from.claim, *to.mutable_claim());
    to.mutable_release();
  }
};

struct Writer {
  wire::JobMessage& to;

  void operator()(const Ask& from) const {
    auto& ask = *to.mutable_ask();
    ask.set_key(from.key);
    ask.set_number(from.number);
    ask.set_lease_ns(from.lease.ns());
    std::visit(BodyWriter{ask}, from.body);
  }
  void operator()(const Answer& from) const {
    auto& answer = *to.mutable_answer();
    answer.set_key(from.key);
    answer.set_number(from.number);
    answer.set_verdict(static_cast<uint32_t>(from.verdict));
    put(from.promised, *answer.mutable_promised());
    answer.set_again_after_ns(from.again_after.ns());
    put(from.accepted, *answer.mutable_accepted());
    answer.set_value(from.value);
  }
  void operator()(const Freed& from) const { to.mutable_freed()->set_key(from.key); }
  void operator()(const Unable& from) const {
    to.mutable_unable()->set_key(from.key);
    to.mutable_unable()->set_why(printable(from.why).substr(0, kMostWhyBytes));
  }
  void operator()(const Gone& from) const {
    to.mutable_gone()->set_key(from.key);
    to.mutable_gone()->set_fence(from.fence.value());
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads, and remembers what was wrong.
class Reader {
 public:
  const char* wrong = nullptr;

  JobFence fence(uint64_t from) {
    if (from > kHighestFence) wrong = "a fence out of its bounds";
    return JobFence(from);
  }
  Claim claim(const wire::JobClaim& from) { return {fence(from.fence()), MemberId(from.owner()), from.nonce()}; }
  Place place(const wire::JobPlace& from) { return {fence(from.fence()), from.write()}; }
  std::string key(const std::string& from) {
    if (from.empty() || from.size() > kMostKeyBytes) wrong = "a key out of its bounds";
    return from;
  }
  std::string value(const std::string& from) {
    if (from.size() > kMostValueBytes) wrong = "a value that is too long";
    return from;
  }
  // An acceptor counts from its own clock, which may run fast: a little more than the longest lease is possible.
  Duration span(int64_t ns, Duration most) {
    const bool good = ns >= 0 && ns <= most.ns();
    if (!good) wrong = "a span out of its bounds";
    return Duration::nanos(good ? ns : 0);
  }
  Ask ask(const wire::JobMessage::Ask& from);
  Answer answer(const wire::JobMessage::Answer& from) {
    Answer out;
    out.key = key(from.key());
    out.number = from.number();
    // A refusal of a newer version is one all the same.
    out.verdict = from.verdict() < kVerdicts ? static_cast<Verdict>(from.verdict()) : Verdict::kUnable;
    out.promised = claim(from.promised());
    out.again_after = span(from.again_after_ns(), kLongestJobLease * 2);
    out.accepted = place(from.accepted());
    out.value = value(from.value());
    return out;
  }
};

Ask Reader::ask(const wire::JobMessage::Ask& from) {
  Ask out;
  out.key = key(from.key());
  out.number = from.number();
  out.lease = span(from.lease_ns(), kLongestJobLease);
  if (out.lease == Duration::zero()) wrong = "no lease";
  const Claim whose = claim(from.claim());
  if (whose.fence == JobFence() || whose.owner == quorum::kNobody) wrong = "a claim of nobody";
  using Case = wire::JobMessage::Ask::BodyCase;
  switch (from.body_case()) {
    case Case::kPrepare: out.body = Prepare{whose}; break;
    case Case::kAccept:
      out.body = Accept{whose, {whose.fence, from.accept().number()}, value(from.accept().value())};
      break;
    case Case::kConfirm: out.body = Confirm{whose}; break;
    case Case::kRelease: out.body = Release{whose}; break;
    case Case::BODY_NOT_SET: wrong = "a question of a kind that is not known"; break;
  }
  return out;
}

}  // namespace

std::string encode_message(const Message& message) {
  wire::JobMessage out;
  out.set_peers(message.peers);
  std::visit(Writer{out}, message.body);
  return out.SerializeAsString();
}

Result<Message> decode_message(std::string_view bytes) {
  wire::JobMessage in;
  if (bytes.size() > kBytesMost || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "a message about jobs that cannot be read");
  }
  Reader reader;
  Message out;
  out.peers = in.peers();
  using Case = wire::JobMessage::BodyCase;
  switch (in.body_case()) {
    case Case::kAsk: out.body = reader.ask(in.ask()); break;
    case Case::kAnswer: out.body = reader.answer(in.answer()); break;
    case Case::kFreed: out.body = Freed{reader.key(in.freed().key())}; break;
    case Case::kUnable:
      out.body = Unable{reader.key(in.unable().key()), printable(in.unable().why()).substr(0, kMostWhyBytes)};
      break;
    case Case::kGone: out.body = Gone{reader.key(in.gone().key()), reader.fence(in.gone().fence())}; break;
    case Case::BODY_NOT_SET: return fail(Errc::kUnsupported, "a message about jobs of a kind that is not known");
  }
  if (reader.wrong != nullptr) return fail(Errc::kProtocol, std::string("a message about jobs with ") + reader.wrong);
  return out;
}

std::string encode_record(const JobRecord& record) {
  wire::JobRecord out;
  out.set_key(record.key);
  put(record.promised, *out.mutable_promised());
  put(record.accepted, *out.mutable_accepted());
  out.set_value(record.value);
  out.set_longest_lease_ns(record.longest_lease.ns());
  return out.SerializeAsString();
}

Result<JobRecord> decode_record(std::string_view bytes) {
  wire::JobRecord in;
  if (bytes.size() > kBytesMost || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kInvalid, "a record of a job that cannot be read");
  }
  Reader reader;
  JobRecord out;
  out.key = reader.key(in.key());
  out.promised = reader.claim(in.promised());
  out.accepted = reader.place(in.accepted());
  out.value = reader.value(in.value());
  out.longest_lease = reader.span(in.longest_lease_ns(), kLongestJobLease);
  if (out.accepted.fence > out.promised.fence) reader.wrong = "a write that is newer than every promise";
  if (reader.wrong != nullptr) return fail(Errc::kInvalid, std::string("a record of a job with ") + reader.wrong);
  return out;
}

}  // namespace bellwether::jobs
