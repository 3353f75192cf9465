// The sheet of a job as bytes (proto/sheet.proto), for its register and for those who watch.
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
// Of a record with as much of everything as it may hold (job_sheet.h), not compressed.
inline constexpr std::size_t kMostLargeSheetBytes = std::size_t{16} << 20;

// A record for its register, compressed when that makes it smaller. One that is larger than a register's value is kept
// apart, as a large value; its register then has its summary: the record without its lists.
struct EncodedSheet {
  std::string value;  // for the register
  std::string large;  // the whole record, when `value` is its summary; else empty
};
// kInvalid as check_sheet() says it.
Result<EncodedSheet> encode_sheet(const JobSheet& sheet);
bool is_summary(std::string_view value);

// For those who watch: without looking at it, and not compressed, because what goes over a connection is anyhow.
std::string sheet_bytes(const JobSheet& sheet);
// Of each kind; texts for people are made fit. kInvalid: no such bytes, or what check_sheet() refuses.
Result<JobSheet> read_sheet(std::string_view bytes);

// As a field of a message (core/message/describe.h).
inline constexpr std::size_t kMostWatchedSheetBytes = kMostLargeSheetBytes;
inline std::string wire_bytes(const JobSheet& sheet) { return sheet_bytes(sheet); }
bool from_wire_bytes(std::string_view bytes, JobSheet& to);
inline bool is_good_value(const JobSheet& sheet) { return check_sheet(sheet).has_value(); }
void draw_value(Prng& prng, JobSheet& to);

// Values between workflows as bytes, as they are kept by a quorum of managers.

std::string encode_context(const plan::Values& context);
// kInvalid says what is wrong with it.
Result<plan::Values> decode_context(std::string_view bytes);

}  // namespace bellwether::dispatch
