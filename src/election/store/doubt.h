// Judges, from a server's data, whether the server may have lost confirmed writes: for stores whose server can lose
// them.
//
// Each record, and a marker of the store, names the life of the server in which it was written (a restart or the
// promotion of a replica begins another one). A lost write may have followed a record of an earlier life. The marker
// also names the start of lease keeping in the present life, in milliseconds. All epochs of new keys begin above it, so
// that a total loss repeats none.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/time.h"
#include "election/lease_record.h"

namespace bellwether::store {

struct ServerLife {
  std::string now_in;     // the life that the server is in
  uint64_t now_ms = 0;    // its clock
  std::string marked_in;  // the life that the marker names
  uint64_t born_ms = 0;   // of the marker; 0: none
};

// How long the marker of a life is too young to prove that a missing record never was: longer than any lease.
inline constexpr Duration kDoubtFor = Duration::minutes(15);

// `seen` has no record: adds the meaning of that. If no candidate can have held the key, it shows the key as free since
// the store began to keep leases.
void judge_absence(const ServerLife& life, const std::string& server_name, election::Observation& seen);
// `seen` has a record that was written in `written_in`.
void judge_record(const ServerLife& life, const std::string& written_in, const std::string& server_name,
                  election::Observation& seen);

}  // namespace bellwether::store
