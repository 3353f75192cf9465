// The requests and responses of a run as text, marked with their virtual user and its iteration.
#pragma once

#include <string>
#include <string_view>

#include "core/base/callback.h"
#include "core/http1/client.h"

namespace bellwether::vuser {

class HttpDebug {
 public:
  static constexpr uint32_t kMaxVus = 10;  // beyond them nobody can read it
  struct Options {
    bool bodies = false;
    bool credentials = false;  // else the values of fields that carry them are hidden
  };
  // `print` gets whole blocks of lines, on any load thread.
  HttpDebug(Options options, Callback<void(const std::string& block)> print);

  // Of all load threads. This object must outlive the run, and stay in its place.
  const http1::ExchangeWatch* watch() const { return &watch_; }

 private:
  void sent(const http1::Session& session, const http1::Origin& origin, std::string_view request) const;
  void received(const http1::Session& session, const http1::Response& response) const;

  Options options_;
  Callback<void(const std::string& block)> print_;
  http1::ExchangeWatch watch_;
};

}  // namespace bellwether::vuser
