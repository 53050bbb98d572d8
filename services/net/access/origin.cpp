#include "services/net/access/origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace runnel::net {

bool same_without_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view without_port(std::string_view text) noexcept {
  const std::size_t colon = text.rfind(':');
  return colon == std::string_view::npos || text.back() == ']' ? text : text.substr(0, colon);
}

bool is_own_host(std::string_view host, const Address& address, const std::vector<std::string>& names) {
  const std::string name(without_port(host));
  if (same_without_case(name, "localhost") || name == without_port(address.text())) return true;
  in6_addr room{};
  if (!address.is_loopback()) {
    if (inet_pton(AF_INET, name.c_str(), &room) == 1) return true;
    if (name.size() > 2 && name.front() == '[' && name.back() == ']' &&
        inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &room) == 1)
      return true;
  }
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& own) { return same_without_case(own, name); });
}

std::vector<std::string> names_of_machine() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return {};
  const std::string own = name.data();
  return {own, own.substr(0, own.find('.')) + ".local"};
}

bool is_own_origin(std::string_view origin, bool tls, std::string_view host) {
  return origin.empty() || same_without_case(origin, (tls ? "https://" : "http://") + std::string(host));
}

}  // namespace runnel::net
