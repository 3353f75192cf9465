// Two nodes and their link, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cluster/wire/link/client.h"
#include "cluster/wire/link/server.h"
#include "core/base/check.h"

namespace bellwether::link {

inline wire::Keyring test_keyring(std::string secret = "a secret for tests, 7Q") {
  auto made = wire::Secret::take(std::move(secret));
  check(made.has_value(), "the secrets of tests are good");
  return wire::Keyring(std::move(*made));
}

inline wire::HandshakeSettings test_node(const std::string& node, wire::Role role) {
  wire::HandshakeSettings settings;
  settings.self.identity = {"flock", "test", "dc1", node, role};
  settings.self.software = "bellwether test";
  return settings;
}

// Answers every request with its own body, unless told to keep it waiting; writes down what else comes.
class EchoHandler final : public ConnectionHandler {
 public:
  bool answers = true;
  std::vector<Connection*> opened;
  std::vector<std::pair<uint16_t, std::string>> messages;
  std::vector<wire::RequestId> waiting;
  std::vector<wire::RequestId> cancelled;
  std::vector<Error> closed;
  uint64_t requests = 0;

  void on_open(Connection& connection) override { opened.push_back(&connection); }
  void on_request(Connection& connection, const wire::Inbound& request) override {
    ++requests;
    if (answers) {
      connection.respond(request.id, wire::ReplyStatus::kOk, request.body);
    } else {
      waiting.push_back(request.id);
    }
  }
  void on_message(Connection&, const wire::Inbound& message) override {
    messages.emplace_back(message.type, std::string(as_text(message.body)));
  }
  void on_cancelled(Connection&, wire::RequestId id) override { cancelled.push_back(id); }
  void on_closed(Connection&, const Error& why) override { closed.push_back(why); }
};

}  // namespace bellwether::link
