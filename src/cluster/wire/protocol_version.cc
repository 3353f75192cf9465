#include "cluster/wire/handshake.h"

namespace bellwether::wire {

constinit const ProtocolVersion kVersion = {1, 6};

}  // namespace bellwether::wire
