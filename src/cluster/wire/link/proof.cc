#include "cluster/wire/link/proof.h"

namespace bellwether::link {

wire::Proof proof_of(const runtime::Stream& secured, const runtime::TlsContext& context) {
  if (!context.verifies()) return std::nullopt;
  std::vector<wire::Claims> claims;
  for (const std::string& uri : runtime::tls_peer_uris(secured)) {
    auto claim = wire::parse_claims(uri);
    if (claim) claims.push_back(std::move(*claim));
  }
  return claims;
}

}  // namespace bellwether::link
