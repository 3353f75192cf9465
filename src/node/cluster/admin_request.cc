#include "node/cluster/admin_request.h"

#include <utility>

#include "base/printable.h"
#include "proto/admin.pb.h"
#include "wire/identity.h"
#include "wire/secret.h"

namespace bellwether::node {
namespace {

tl::unexpected<Error> refuse_version() { return fail(Errc::kUnsupported, "a request that this version does not know"); }

tl::unexpected<Error> refuse_name(const std::string& name) {
  return fail(Errc::kInvalid, "'" + printable(name.substr(0, wire::kNameMax)) +
                                  "' is no name of a node: 1 to 64 letters, digits, '-', '_' and '.'");
}

Result<AdminRequest> keys_of(wire::AdminRequest::Keys& keys) {
  using Keys = wire::AdminRequest::Keys;
  if (keys.act() != Keys::LEARN && !keys.secret().empty()) {
    return fail(Errc::kInvalid, "a secret, and nothing that is to be learned");
  }
  if ((keys.act() == Keys::USE || keys.act() == Keys::FORGET) && keys.id() == 0) {
    return fail(Errc::kInvalid, "which secret is meant? Its id is missing");
  }
  switch (keys.act()) {
    case Keys::LIST: return AskSecrets{};
    case Keys::LEARN:
      if (keys.secret().size() < wire::kSecretMin || keys.secret().size() > wire::kSecretMax) {
        return fail(Errc::kInvalid, "a secret has from " + std::to_string(wire::kSecretMin) + " to " +
                                        std::to_string(wire::kSecretMax) + " characters");
      }
      return LearnSecret{std::move(*keys.mutable_secret())};
    case Keys::USE: return UseSecret{keys.id()};
    case Keys::FORGET: return ForgetSecret{keys.id()};
    default: return refuse_version();
  }
}

}  // namespace

Result<AdminRequest> decode_admin_request(std::string_view bytes) {
  if (bytes.size() > kAdminRequestMax) {
    return fail(Errc::kTooLarge, "a request of " + std::to_string(bytes.size()) + " bytes; at most " +
                                     std::to_string(kAdminRequestMax) + " are read");
  }
  wire::AdminRequest in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "a request that cannot be read");
  }
  switch (in.ask_case()) {
    case wire::AdminRequest::kMembers: return AskMembers{};
    case wire::AdminRequest::kLeader: return AskLeader{};
    case wire::AdminRequest::kQuorum: return AskQuorum{};
    case wire::AdminRequest::kVotes: return AskVotes{in.votes().messages()};
    case wire::AdminRequest::kElect: return CallElection{in.elect().forced()};
    case wire::AdminRequest::kLeave: return Leave{};
    case wire::AdminRequest::kDrain: return Drain{};
    case wire::AdminRequest::kTransfer:
      if (!in.transfer().to().empty() && !wire::is_name(in.transfer().to())) return refuse_name(in.transfer().to());
      return Transfer{in.transfer().to()};
    case wire::AdminRequest::kVoters:
      if (!wire::is_name(in.voters().name())) return refuse_name(in.voters().name());
      return ChangeVoters{in.voters().add(), in.voters().name()};
    case wire::AdminRequest::kKeys: return keys_of(*in.mutable_keys());
    case wire::AdminRequest::ASK_NOT_SET: break;
  }
  return refuse_version();
}

std::string act_of(const AdminRequest& request) {
  if (std::holds_alternative<Leave>(request)) return "leave";
  if (std::holds_alternative<Drain>(request)) return "drain";
  if (const auto* to = std::get_if<Transfer>(&request)) return "transfer to '" + to->to + "'";
  if (const auto* call = std::get_if<CallElection>(&request)) return call->forced ? "elect by force" : "elect";
  if (const auto* voters = std::get_if<ChangeVoters>(&request)) {
    return std::string(voters->add ? "add" : "remove") + " voter '" + voters->name + "'";
  }
  if (std::holds_alternative<LearnSecret>(request)) return "learn a secret";
  if (std::holds_alternative<UseSecret>(request)) return "use another secret";
  if (std::holds_alternative<ForgetSecret>(request)) return "forget a secret";
  return {};
}

}  // namespace bellwether::node
