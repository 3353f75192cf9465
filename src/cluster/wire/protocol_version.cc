#include "cluster/wire/handshake.h"

namespace bellwether::wire {

constinit const ProtocolVersion kVersion = {1, 3};

}  // namespace bellwether::wire
