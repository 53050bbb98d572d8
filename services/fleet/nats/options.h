// What users say about servers and themselves, in one table for verbs and nodes. Secrets come from files or
// from the environment, never from a command line or a graph, which others can read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/fleet/nats/wire.h"

namespace runnel::fleet {

struct NatsOption {
  const char* name;      // of the option, after "--"
  const char* variable;  // of the environment, where the option is not given
  std::string Wire::Settings::*value;
  const char* help;
  bool is_file = true;
};

inline constexpr NatsOption kNatsOptions[] = {
    {"credentials", "NATS_CREDS", &Wire::Settings::credentials,
     "File with the credentials of a NATS user (.creds)"},
    {"nkey", "NATS_NKEY", &Wire::Settings::nkey,
     "File with public key and seed of a user, one a line, as `nk -gen user -pubout` writes them"},
    {"user", "NATS_USER", &Wire::Settings::user,
     "Name of the user, with --password-file or the variable NATS_PASSWORD", false},
    {"password-file", "NATS_PASSWORD_FILE", &Wire::Settings::password_file, "File with the password"},
    {"nats-token-file", "NATS_TOKEN_FILE", &Wire::Settings::token_file, "File with the server's token"},
    {"ca", "NATS_CA", &Wire::Settings::certificates,
     "File with the authorities that signed the servers' certificates (PEM)"},
    {"certificate", "NATS_CERT", &Wire::Settings::certificate,
     "File with a certificate of this client (PEM), with --key"},
    {"key", "NATS_KEY", &Wire::Settings::key, "File with its key (PEM)"},
    {"server-name", "NATS_SERVER_NAME", &Wire::Settings::server_name,
     "Name in the servers' certificates (default: the host of --nats)", false},
    {"inbox", "NATS_INBOX", &Wire::Settings::inbox,
     "Beginning of the subjects for answers, where the server allows each user another one", false},
};

// Takes from the environment what is empty, the secrets NATS_PASSWORD and NATS_TOKEN too, and checks what
// belongs together. Errors: invalid_argument.
Status complete_settings(Wire::Settings& settings);

// A sentence when a password or token would cross a network that anybody can read; "" if not. Of complete
// settings.
std::string open_secret(const Wire::Settings& settings);

// The addresses in a list with commas.
std::vector<std::string> addresses_in(std::string_view urls);

}  // namespace runnel::fleet
