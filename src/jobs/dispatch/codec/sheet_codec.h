// The job record as bytes (proto/sheet.proto), for its register and for clients that watch. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cluster/register/small.h"
#include "core/base/prng.h"
#include "core/base/result.h"
#include "jobs/dispatch/job_sheet.h"
#include "load/plan/sequence.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMostSheetBytes =
    registers::kMostValueBytes - 1;  // the register needs one to say that it is a value
// Of a record with the maximum of everything (job_sheet.h), not compressed.
inline constexpr std::size_t kMostLargeSheetBytes = std::size_t{16} << 20;

// A record for its register, compressed if that makes it smaller. A record above the limit of a register is a blob; the
// register then has its summary: the record without its lists.
struct EncodedSheet {
  std::string value;  // for the register
  std::string large;  // the whole record, if `value` is its summary; else empty
};
// kInvalid as in check_sheet().
Result<EncodedSheet> encode_sheet(const JobSheet& sheet);
bool is_summary(std::string_view value);

// For clients: unchecked, and not compressed, because the connection compresses.
std::string sheet_bytes(const JobSheet& sheet);
// Of each kind; texts for people are made fit. kInvalid: not such bytes, or refused by check_sheet().
Result<JobSheet> read_sheet(std::string_view bytes);

// As a field of a message (core/message/describe.h).
inline constexpr std::size_t kMostWatchedSheetBytes = kMostLargeSheetBytes;
inline std::string wire_bytes(const JobSheet& sheet) { return sheet_bytes(sheet); }
bool from_wire_bytes(std::string_view bytes, JobSheet& to);
inline bool is_good_value(const JobSheet& sheet) { return check_sheet(sheet).has_value(); }
void draw_value(Prng& prng, JobSheet& to);

// Values between workflows as bytes, for a quorum of managers.

std::string encode_context(const plan::Values& context);
// kInvalid names the fault.
Result<plan::Values> decode_context(std::string_view bytes);

}  // namespace bellwether::dispatch
