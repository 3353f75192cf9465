#include "cluster/wire/hello.h"

namespace bellwether::wire {

constinit const ProtocolVersion kVersion = {1, 2};

}  // namespace bellwether::wire
