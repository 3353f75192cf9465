// What to do about a member without its earlier record, which may be new or may have lost its disk.
#pragma once

namespace bellwether::quorum {

// A start without --first-start leaves a record that says so: only an empty folder makes a new member of it.
inline constexpr const char* kNoRecordRemedy =
    "Only if this node is new: end it, delete its data folder, and start it once with --first-start. If it lost its "
    "disk: replace it by a node with another name";

}  // namespace bellwether::quorum
