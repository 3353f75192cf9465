#include "cluster/wire/handshake.h"

namespace bellwether::wire {

constinit const ProtocolVersion kVersion = {1, 5};

}  // namespace bellwether::wire
