#include "cluster/node/dialling.h"

#include "cluster/net/message_classes.h"
#include "cluster/wire/session.h"
#include "core/base/bytes.h"
#include "core/runtime/scope.h"

namespace bellwether::node {

namespace {

using runtime::task;

class Deaf final : public link::ConnectionHandler {
 public:
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    connection.respond(request.id, wire::ReplyStatus::kNotPermitted, {});
  }
};

task<void> run(link::Connection* connection, runtime::Cancellation* cancel) {
  const Error why = co_await connection->run(cancel);
  static_cast<void>(why);
}

}  // namespace

// Names have no '/', so that no two clusters share a key.
std::string leadership_key(const cluster::NodeConfig& config) {
  return fmt::format("bellwether-cluster/{}/{}", config.cluster, config.environment);
}

std::string software_name() { return "bellwether 0.1.0"; }

Result<link::DialSettings> plain_dialling_as(const cluster::NodeConfig& config, const std::string& name,
                                             wire::Role role) {
  link::DialSettings dialling;
  dialling.handshake.self.identity = {config.cluster, config.environment, config.datacenter, name, role};
  dialling.handshake.self.software = software_name();
  dialling.handshake.has_gates = config.has_gates;
  BW_RETURN_IF_ERROR(wire::check_identity(dialling.handshake.self.identity));
  return dialling;
}

Result<link::DialSettings> dialling_as(const cluster::NodeConfig& config, const std::string& name, wire::Role role) {
  auto dialling = plain_dialling_as(config, name, role);
  if (!dialling || !config.has_tls()) return dialling;
  runtime::TlsClientOptions options;
  options.check_name = config.verify_hostname;
  options.ca_file = config.ca;
  options.certificate_file = config.certificate;
  options.key_file = config.key;
  BW_TRY(dialling->tls, runtime::TlsContext::client(options));
  return dialling;
}

Result<OperatorClient> OperatorClient::make(const cluster::NodeConfig& config, wire::Keyring keyring,
                                            const std::string& by) {
  OperatorClient client(std::move(keyring));
  BW_TRY(client.dialling_, dialling_as(config, by, wire::Role::kOperator));
  return client;
}

task<Result<AdminAnswer>> OperatorClient::ask(runtime::Runtime& runtime, HostPort node, AdminRequest request,
                                              Duration timeout) {
  const std::string where = to_string(node);
  BW_CO_TRY(auto answer, co_await this->request(runtime, std::move(node), cluster::message_type::kAdmin,
                                                message::encode(request), timeout));
  auto read = message::decode<AdminAnswer>(answer);
  if (!read) co_return fail(Errc::kProtocol, where + " sent an answer that cannot be read");
  co_return std::move(*read);
}

task<Result<std::string>> OperatorClient::request(runtime::Runtime& runtime, HostPort node, uint16_t type,
                                                  std::string body, Duration timeout) {
  const Instant deadline = runtime.read_clock() + timeout;
  const auto addresses = co_await runtime.resolve(node.host, nullptr);
  if (!addresses) co_return fail(addresses.error().code, "{}: {}", to_string(node), addresses.error().message);
  Deaf handler;
  link::RefusalWatch refusals;
  auto dialled = co_await link::dial(runtime, {addresses->front(), node.port}, node.host, dialling_, keyring_, handler,
                                     refusals, nullptr);
  if (!dialled) {
    // An address without a listener is no refusal.
    const bool answered = dialled.error().refusal != wire::Refusal::kNone;
    co_return fail(answered ? dialled.error().error.code : Errc::kUnreachable,
                   fmt::format("{}: {}", to_string(node), without_place(node, dialled.error().error.message)));
  }
  runtime::Scope scope;
  scope.spawn(run(dialled->get(), scope.cancellation()));
  std::vector<std::byte> answer;
  const wire::Outgoing message{.type = type, .priority = wire::Priority::kControl, .body = as_bytes(body)};
  const auto status = co_await (*dialled)->request(message, deadline, answer, nullptr);
  (*dialled)->say_goodbye();
  scope.cancel();
  co_await scope.join();
  if (!status) co_return fail(status.error().code, "{}: {}", to_string(node), status.error().message);
  if (*status == wire::ReplyStatus::kFailed) co_return fail(Errc::kRefused, std::string(as_text(answer)));
  if (*status == wire::ReplyStatus::kBusy) {
    co_return fail(Errc::kExhausted, "{} is busy: {}", to_string(node), wire::decode_busy(answer).why);
  }
  if (*status != wire::ReplyStatus::kOk) {
    const bool unknown = *status == wire::ReplyStatus::kUnknownType;
    const char* why =
        type == cluster::message_type::kAdmin
            ? " yet: it has not joined"
            : " about that: it has not joined, its role does not support the request, or its version is older than "
              "this command";
    co_return fail(Errc::kRefused, "{} does not answer operators{}", to_string(node), unknown ? why : "");
  }
  co_return std::string(as_text(answer));
}

}  // namespace bellwether::node
