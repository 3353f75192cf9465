// How a client reaches its cluster, of its options, the environment, and a file of settings.
#pragma once

#include "bellwether/client.h"
#include "jobs/client/client_engine.h"

namespace bellwether::client::detail {

Outcome<Engine::Settings> settings_of(const Options& options);

}  // namespace bellwether::client::detail
