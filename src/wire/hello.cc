#include "wire/hello.h"

#include <cstring>
#include <google/protobuf/stubs/logging.h>

#include "base/check.h"
#include "base/printable.h"
#include "proto/handshake.pb.h"

namespace bellwether::wire {

namespace {

constexpr std::size_t kSoftwareMax = 128;
constexpr std::size_t kDetailMax = 512;

std::vector<std::byte> encoded(const google::protobuf::MessageLite& message) {
  std::vector<std::byte> bytes(message.ByteSizeLong());
  check(message.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())), "a small message is serialised");
  return bytes;
}

// Protobuf would write a line to the standard error for each text that is no UTF-8.
bool parse(google::protobuf::MessageLite& message, Bytes bytes) {
  static google::protobuf::LogHandler* const before = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(before);
  return bytes.size() <= kHelloMax && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

tl::unexpected<Error> wrong(const char* field) {
  return fail(Errc::kProtocol, std::string("the other end's hello has a missing or wrong field '") + field + "'");
}

}  // namespace

std::vector<std::byte> encode_hello(const Announced& announced) {
  Hello message;
  message.mutable_version()->set_major(announced.version.major);
  message.mutable_version()->set_minor(announced.version.minor);
  message.set_cluster(announced.identity.cluster);
  message.set_environment(announced.identity.environment);
  message.set_role(std::string(to_string(announced.identity.role)));
  message.set_datacenter(announced.identity.datacenter);
  message.set_node(announced.identity.node);
  message.set_software(announced.software.substr(0, kSoftwareMax));
  for (std::string& name : announced.capabilities.names()) message.add_capabilities(std::move(name));
  if (announced.session) message.set_session(std::string(as_text(announced.session->bytes)));
  message.set_requests_max(announced.requests_max);
  return encoded(message);
}

Result<Announced> decode_hello(Bytes bytes) {
  Hello message;
  if (!parse(message, bytes)) return fail(Errc::kProtocol, "the other end's hello is no message of ours");
  Announced announced;
  if (!message.has_version() || message.version().major() == 0) return wrong("version");
  announced.version = {message.version().major(), message.version().minor()};
  if (!is_name(message.cluster())) return wrong("cluster");
  if (!is_name(message.environment())) return wrong("environment");
  announced.identity = {message.cluster(), message.environment(), message.datacenter(), message.node(), Role::kClient};
  announced.capabilities = Capabilities::named(message.capabilities());
  announced.software = printable(message.software().substr(0, kSoftwareMax));
  if (announced.version.major != kVersion.major) {
    announced.identity.datacenter = announced.identity.node = "unknown";  // their rules may be others
    return announced;
  }
  if (!is_name(message.datacenter())) return wrong("datacenter");
  if (!is_name(message.node())) return wrong("node");
  const auto role = parse_role(message.role());
  if (!role) return wrong("role");
  announced.identity.role = *role;
  if (!message.session().empty()) {
    announced.session.emplace();
    if (message.session().size() != announced.session->bytes.size()) return wrong("session");
    std::memcpy(announced.session->bytes.data(), message.session().data(), announced.session->bytes.size());
  }
  announced.requests_max = message.requests_max();
  if (announced.requests_max == 0 || announced.requests_max > kRequestsMax) return wrong("requests_max");
  return announced;
}

std::vector<std::byte> encode_refused(const RefusedText& refused) {
  Refused message;
  message.set_reason(refused.reason);
  message.set_detail(refused.detail.substr(0, kDetailMax));
  return encoded(message);
}

Result<RefusedText> decode_refused(Bytes bytes) {
  Refused message;
  if (!parse(message, bytes)) return fail(Errc::kProtocol, "the other end's refusal is no message of ours");
  return RefusedText{printable(message.reason().substr(0, kNameMax)),
                     printable(message.detail().substr(0, kDetailMax))};
}

}  // namespace bellwether::wire
