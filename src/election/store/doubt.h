// What a server may have forgotten, judged by what it shows: for stores whose server can lose what it has answered for.
//
// Each record, and a marker of the store, names the life of the server in which it was written (a restart, a promotion
// of a replica begin another one). What was written in an earlier life may be followed by something that is lost. The
// marker also says since when the present life keeps leases, in milliseconds; all epochs of new keys begin above that,
// so that none is repeated after everything was lost.
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
  uint64_t born_ms = 0;   // of the marker; 0: there is none
};

// How long the marker of a life is too young to prove that a missing record never was: longer than any lease.
inline constexpr Duration kDoubtFor = Duration::minutes(15);

// `seen` has no record: puts in what that means. Where nobody can have held the key, it is shown as free since the
// store began to keep leases.
void judge_absence(const ServerLife& life, const std::string& server_name, election::Observation& seen);
// `seen` has a record that was written in `written_in`.
void judge_record(const ServerLife& life, const std::string& written_in, const std::string& server_name,
                  election::Observation& seen);

}  // namespace bellwether::store
