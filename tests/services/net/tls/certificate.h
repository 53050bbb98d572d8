// Certificates for tests, made on the spot.
#pragma once

#include <filesystem>
#include <string>

#include "services/net/tls/tls_files.h"

namespace runnel::net::test {

struct CertificateWish {
  std::string name = "runnel";       // of its files, and its common name
  int first_day = -1, last_day = 2;  // from today
  std::string issuer{};  // the name of another one in the same folder, with which it is signed; empty: itself
};

// Writes NAME.pem and NAME.key: P-256, for 127.0.0.1 and localhost.
TlsFiles make_certificate(const std::filesystem::path& folder, const CertificateWish& wish = {});

}  // namespace runnel::net::test
