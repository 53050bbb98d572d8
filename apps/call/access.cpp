#include "apps/call/access.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "apps/support.h"
#include "base/host/small_file.h"
#include "services/net/limits.h"

namespace runnel::apps {
namespace {

// From a file or the environment, because other users can read command lines.
Result<std::string> token_of(const std::string& token_file) {
  std::string token;
  if (!token_file.empty()) {
    RUNNEL_ASSIGN(token, read_small_file(token_file));
  } else if (const char* variable = std::getenv("RUNNEL_TOKEN"); variable != nullptr) {
    token = variable;
  }
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  const std::string_view from = token_file.empty() ? "RUNNEL_TOKEN" : std::string_view(token_file);
  if (token.empty() && !token_file.empty())
    return Status(Code::invalid_data) << from << ": the token is empty";
  if (!token.empty() && (token.size() < net::kShortestToken || token.size() > net::kLongestToken))
    return Status(Code::invalid_data)
           << from << ": a token of " << token.size() << " bytes, expected 16 to 1000";
  return token;
}

// What the handler of the signal may touch.
std::atomic<int> hangup_event{-1};
std::atomic<bool> hangup_over{false};

void ring() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(hangup_event.load(), &one, sizeof one);
}

}  // namespace

void add_access_flags(Verb verb, AccessFlags& flags, const std::optional<Option>& needs) {
  const auto with = [&](const Option& option) {
    if (needs) option.needs(*needs);
    return option;
  };
  // Without --http it has no effect, and has never been refused.
  verb.option("--token-file", flags.token_file,
              "File with a token for clients, 16 to 1000 bytes, with all scopes (default: the variable "
              "RUNNEL_TOKEN)");
  with(verb.option("--tokens", flags.tokens,
                   "File with the digests of tokens and what each may do, lines such as "
                   "stream,watch sha256:DIGEST; scopes are stream, watch and manage"));
  const Option certificate =
      with(verb.option("--tls-cert", flags.tls.certificate,
                       "PEM file with the certificate of this server: all that it serves is then within TLS. "
                       "Browsers give pages of other machines no microphone without it"));
  verb.option("--tls-key", flags.tls.key, "PEM file with the key of the certificate").needs(certificate);
  verb.option("--client-ca", flags.tls.client_ca,
              "PEM file with the authorities of clients, who then need a certificate of one of them")
      .needs(certificate);
  with(verb.option("--host-name", flags.names,
                   "A further name of this server, by which requests over HTTP may call it (may be repeated)")
           .take_all()
           .default_str(""));
  with(verb.option("--max-per-address", flags.most_connections,
                   "Most connections of one address of another machine at a time (0: no limit)")
           .range(0, 65536));
  with(verb.option("--max-rate", flags.rate,
                   "Most new connections a second of such an address in the long run (0: no limit)")
           .range(0.0, 1e6));
  with(verb.flag("--limit-own-machine", flags.limits_own_machine,
                 "Let these two hold for the addresses of this machine, too"));
}

Result<net::Tokens> tokens_of(const AccessFlags& flags) {
  RUNNEL_ASSIGN(const std::string token, token_of(flags.token_file));
  return net::Tokens::read(flags.tokens, token);
}

void warn_of_clear(const net::Address& address, const net::TlsFiles& tls) {
  if (address.is_loopback() || !tls.empty()) return;
  say(address.text() +
      ": tokens and sound go there in the clear, for everybody on the way to read; give --tls-cert and "
      "--tls-key");
}

std::shared_ptr<net::Admission> admission_of(const AccessFlags& flags) {
  net::Admission::Limits limits;
  limits.most_connections = flags.most_connections;
  limits.rate = flags.rate;
  limits.own_machine = flags.limits_own_machine;
  return std::make_shared<net::Admission>(limits);
}

OnHangup::OnHangup(std::function<void()> heard) {
  hangup_event = eventfd(0, EFD_CLOEXEC);
  hangup_over = false;
  if (hangup_event < 0) return;  // SIGHUP ends the program, as without this
  thread_ = std::thread([heard = std::move(heard)] {
    std::uint64_t count = 0;
    while (true) {
      const ssize_t got = ::read(hangup_event, &count, sizeof count);
      if (hangup_over || (got < 0 && errno != EINTR)) return;
      if (got > 0) heard();
    }
  });
  struct sigaction action = {};
  action.sa_handler = [](int) { ring(); };
  sigaction(SIGHUP, &action, nullptr);
}

OnHangup::~OnHangup() {
  if (!thread_.joinable()) return;
  signal(SIGHUP, SIG_IGN);  // the program is about to end
  hangup_over = true;
  ring();
  thread_.join();
  ::close(hangup_event.exchange(-1));
}

}  // namespace runnel::apps
