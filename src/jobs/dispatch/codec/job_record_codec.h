// The job record as bytes (proto/job_record.proto), for its register and for clients that watch. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cluster/register/small.h"
#include "core/base/prng.h"
#include "core/base/result.h"
#include "jobs/dispatch/job_record.h"
#include "load/plan/sequence.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMaxRecordBytes =
    registers::kMaxValueBytes - 1;  // the register needs one to say that it is a value
// Of a record with the maximum of everything (job_record.h), not compressed.
inline constexpr std::size_t kMaxLargeRecordBytes = std::size_t{16} << 20;

// A record for its register, compressed if that makes it smaller. A record above the limit of a register is a blob; the
// register then has its summary: the record without its lists.
struct EncodedRecord {
  std::string value;  // for the register
  std::string large;  // the whole record, if `value` is its summary; else empty
};
// kInvalid as in check_record().
Result<EncodedRecord> encode_record(const JobRecord& record);
bool is_summary(std::string_view value);

// For clients: unchecked, and not compressed, because the connection compresses.
std::string record_bytes(const JobRecord& record);
// Of each kind; texts for people are made fit. kInvalid: not such bytes, or refused by check_record().
Result<JobRecord> read_record(std::string_view bytes);

// As a field of a message (core/message/describe.h).
inline constexpr std::size_t kMaxWatchedRecordBytes = kMaxLargeRecordBytes;
inline std::string wire_bytes(const JobRecord& record) { return record_bytes(record); }
bool from_wire_bytes(std::string_view bytes, JobRecord& to);
inline bool is_good_value(const JobRecord& record) { return check_record(record).has_value(); }
void draw_value(Prng& prng, JobRecord& to);

// Values between workflows as bytes, for a quorum of managers.

std::string encode_context(const plan::Values& context);
// kInvalid names the fault.
Result<plan::Values> decode_context(std::string_view bytes);

}  // namespace bellwether::dispatch
