// What a node of another version of the protocol speaks: linked in the place of src/cluster/wire/protocol_version.cc.
#include "cluster/wire/handshake.h"

namespace bellwether::wire {

constinit const ProtocolVersion kVersion = {BW_PROTOCOL_MAJOR, BW_PROTOCOL_MINOR};

}  // namespace bellwether::wire
