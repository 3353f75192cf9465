// The sheet of a job as bytes (proto/sheet.proto), for its register and for those who watch.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dispatch/job_register.h"
#include "dispatch/job_sheet.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMostSheetBytes = kMostValueBytes - 1;  // the register needs one to say that it is a value

// For the register: compressed, when that makes it smaller. kInvalid as check_sheet() says it; kTooLarge says by how
// much.
Result<std::string> encode_sheet(const JobSheet& sheet);

// For those who watch: without looking at it, and not compressed, because what goes over a connection is anyhow.
std::string sheet_bytes(const JobSheet& sheet);
// Of either kind; texts for people are made fit. kInvalid: no such bytes, or what check_sheet() refuses.
Result<JobSheet> read_sheet(std::string_view bytes);

}  // namespace bellwether::dispatch
