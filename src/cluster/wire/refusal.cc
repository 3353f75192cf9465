#include "cluster/wire/refusal.h"

namespace bellwether::wire {

std::string_view to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone: return "none";
    case Refusal::kRateLimited: return "rate_limited";
    case Refusal::kTruncated: return "truncated";
    case Refusal::kOversized: return "oversized";
    case Refusal::kGarbage: return "garbage";
    case Refusal::kFormat: return "format";
    case Refusal::kUnknownKey: return "unknown_key";
    case Refusal::kForged: return "forged";
    case Refusal::kReplayed: return "replayed";
    case Refusal::kUnproven: return "unproven";
    case Refusal::kBomb: return "bomb";
    case Refusal::kCluster: return "cluster";
    case Refusal::kEnvironment: return "environment";
    case Refusal::kVersion: return "version";
    case Refusal::kRole: return "role";
    case Refusal::kCertificate: return "certificate";
    case Refusal::kName: return "name";
    case Refusal::kOwnName: return "own_name";
    case Refusal::kSender: return "sender";
    case Refusal::kUnknownMessage: return "unknown_message";
    case Refusal::kUnexpected: return "unexpected";
    case Refusal::kTimeout: return "timeout";
    case Refusal::kCrowded: return "crowded";
  }
  return "unknown";
}

}  // namespace bellwether::wire
