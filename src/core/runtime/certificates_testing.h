// A certificate authority for tests: issues certificates whose alternative names are those that a test wants.
#pragma once

#include <fstream>
#include <string>

#include "core/base/check.h"
#include "core/runtime/certificates.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {

class TestAuthority {
 public:
  explicit TestAuthority(const TemporaryFolder& folder, const std::string& name = "authority")
      : folder_(folder), own_(make_certificate({.name = name, .authority = true}).value()) {
    ca_file_ = write(own_.certificate, name + "-ca.pem");
  }
  // PEM file of its certificate.
  const std::string& ca_file() const { return ca_file_; }

  // The paths of the files. `names` in OpenSSL's notation: "DNS:here.test,URI:bellwether://c/e/d/role/worker".
  Certified issue(const std::string& file, const std::string& names) const {
    const Certified made = make_certificate({.name = file, .alternatives = names}, &own_).value();
    return {write(made.certificate, file + ".pem"), write(made.key, file + "-key.pem")};
  }

 private:
  std::string write(const std::string& text, const std::string& file) const {
    std::ofstream(folder_.path(file)) << text;
    return folder_.path(file);
  }

  const TemporaryFolder& folder_;
  Certified own_;
  std::string ca_file_;
};

}  // namespace bellwether::runtime
