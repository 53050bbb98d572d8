// Who may reach what a verb serves: tokens, TLS, limits by address.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "apps/command_line.h"
#include "services/net/access/admission.h"
#include "services/net/access/tokens.h"
#include "services/net/address.h"
#include "services/net/tls/tls_files.h"

namespace runnel::apps {

struct AccessFlags {
  std::string token_file, tokens;
  net::TlsFiles tls;
  std::vector<std::string> names;
  int most_connections = net::kMostConnections;
  double rate = net::kConnectionRate;
  bool limits_own_machine = false;
};
// --token-file, --tokens, --tls-cert, --tls-key, --client-ca, --host-name, --max-per-address, --max-rate and
// --limit-own-machine. `needs`: an option without which nothing is served.
void add_access_flags(Verb verb, AccessFlags& flags, const std::optional<Option>& needs);

// The tokens of the files, and of the variable RUNNEL_TOKEN where there is no --token-file. Errors:
// not_found; invalid_data, also for a single token unless it has 16 to 1000 bytes.
Result<net::Tokens> tokens_of(const AccessFlags& flags);
// Says so when what goes over this address can be read on the way.
void warn_of_clear(const net::Address& address, const net::TlsFiles& tls);
std::shared_ptr<net::Admission> admission_of(const AccessFlags& flags);

// While it lives, SIGHUP has a thread call `heard` instead of ending the program. One at a time.
class OnHangup {
 public:
  explicit OnHangup(std::function<void()> heard);
  ~OnHangup();
  OnHangup(const OnHangup&) = delete;
  OnHangup& operator=(const OnHangup&) = delete;

 private:
  std::thread thread_;
};

}  // namespace runnel::apps
