// What both letters and their answers hold.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatch/codec/field_reader.h"
#include "dispatch/letters.h"

namespace bellwether::wire {
class DispatchBundle;
class DispatchEnd;
}  // namespace bellwether::wire

namespace bellwether::dispatch {

void put(const ShareEnd& from, wire::DispatchEnd& to);
void put(const BundleLetter& from, wire::DispatchBundle& to);

ShareEnd read_end(FieldReader& reader, const wire::DispatchEnd& from);
// Takes the bytes out of `from`.
BundleLetter read_bundle(FieldReader& reader, wire::DispatchBundle& from);

// What has no bulk in it, a bundle, a window or totals, is not larger.
inline constexpr std::size_t kMostPlainBytes = std::size_t{8} << 20;
// Whether these bytes may be parsed: lists of empty things take far more memory than bytes, so that large bytes have to
// be one of these fields, but for a little.
bool may_parse(std::string_view bytes, std::size_t most, std::initializer_list<uint32_t> bulk_fields);

// Nothing is told of one share twice.
void require_distinct(FieldReader& reader, std::vector<std::pair<std::string_view, ShareId>> shares);

}  // namespace bellwether::dispatch
