#include "services/fleet/nats/options.h"

#include <algorithm>
#include <cstdlib>

namespace runnel::fleet {
namespace {

std::string from_environment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_here(std::string_view url) {
  const std::size_t begin = url.find("://") == std::string_view::npos ? 0 : url.find("://") + 3;
  const std::string_view host = url.substr(begin);
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
}

}  // namespace

std::vector<std::string> addresses_in(std::string_view urls) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= urls.size();) {
    const std::size_t end = std::min(urls.find(',', at), urls.size());
    if (end > at) out.emplace_back(urls.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Status complete_settings(Wire::Settings& settings) {
  const auto wrong = [](std::string_view why) { return Status(Code::invalid_argument, why); };
  if (settings.urls.find('@') != std::string::npos)
    return wrong("an address with user or password: expected them in files, where others cannot read them");
  const std::vector<std::string> urls = addresses_in(settings.urls);
  if (urls.empty()) return wrong("no address of a server, expected nats://host:4222");
  for (const std::string& url : urls) {
    const std::size_t scheme = url.find("://");
    if (scheme != std::string::npos && !url.starts_with("nats://") && !url.starts_with("tls://"))
      return Status(Code::invalid_argument) << url << ": expected nats://HOST:PORT or tls://HOST:PORT";
  }
  // Who names a user means no other.
  const bool named = !settings.credentials.empty() || !settings.nkey.empty() || !settings.user.empty() ||
                     !settings.token_file.empty();
  for (const NatsOption& option : kNatsOptions) {
    const bool of_user = option.value == &Wire::Settings::credentials ||
                         option.value == &Wire::Settings::nkey || option.value == &Wire::Settings::user ||
                         option.value == &Wire::Settings::token_file;
    if ((settings.*option.value).empty() && !(named && of_user))
      settings.*option.value = from_environment(option.variable);
  }
  if (settings.user.empty() && !settings.password_file.empty()) return wrong("a password without its user");
  if (!settings.user.empty() && settings.password_file.empty() && settings.password.empty()) {
    settings.password = from_environment("NATS_PASSWORD");
    if (settings.password.empty())
      return Status(Code::invalid_argument)
             << "the user " << settings.user
             << " without a file with the password, or the variable NATS_PASSWORD";
  }
  if (!named && settings.user.empty() && settings.credentials.empty() && settings.nkey.empty() &&
      settings.token_file.empty())
    settings.token = from_environment("NATS_TOKEN");
  const int ways = (settings.credentials.empty() ? 0 : 1) + (settings.nkey.empty() ? 0 : 1) +
                   (settings.user.empty() ? 0 : 1) +
                   (settings.token_file.empty() && settings.token.empty() ? 0 : 1);
  if (ways > 1) return wrong("two ways to sign in: expected credentials, a key, a user or a token");
  if (settings.certificate.empty() != settings.key.empty())
    return wrong("a client's certificate and its key belong together, found one of them");
  const auto bad = [](char letter) {
    return letter <= ' ' || letter == '*' || letter == '>' || letter == 127;
  };
  if (std::any_of(settings.inbox.begin(), settings.inbox.end(), bad) || settings.inbox.starts_with('.') ||
      settings.inbox.ends_with('.'))
    return Status(Code::invalid_argument)
           << "the inbox " << settings.inbox << ": expected the beginning of a subject";
  return {};
}

std::string open_secret(const Wire::Settings& settings) {
  if (settings.user.empty() && settings.token.empty() && settings.token_file.empty()) return {};
  if (!settings.certificates.empty() || !settings.certificate.empty()) return {};
  for (const std::string& url : addresses_in(settings.urls)) {
    if (url.starts_with("tls://") || is_here(url)) continue;
    return url + ": the password or token crosses the network as anybody can read it; tls:// encrypts it";
  }
  return {};
}

}  // namespace runnel::fleet
