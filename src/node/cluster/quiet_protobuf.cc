#include "node/cluster/quiet_protobuf.h"

#include <google/protobuf/stubs/logging.h>

namespace bellwether::node {

void quiet_protobuf() { google::protobuf::SetLogHandler(nullptr); }

}  // namespace bellwether::node
