// What the certificate of the other end of a secured stream claims. Private to the link sources.
#pragma once

#include "cluster/wire/handshake.h"
#include "core/runtime/tls.h"

namespace bellwether::link {

// Nothing when `context` verifies no certificates; else one entry for each URI of ours, maybe none.
wire::Proof proof_of(const runtime::Stream& secured, const runtime::TlsContext& context);

}  // namespace bellwether::link
