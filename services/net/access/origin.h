// Whether a request over HTTP is meant for this server, and comes from its own pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/net/address.h"

namespace runnel::net {

bool same_without_case(std::string_view a, std::string_view b) noexcept;
// The host of "host:port", in brackets or not.
std::string_view without_port(std::string_view text) noexcept;

// Against DNS rebinding: a page elsewhere can give its own name this server's address, and then a browser
// sends that name. `host`: the header Host; `address`: where the server listens; `names`: further names that
// it has. A literal IP address is no name that anybody could point elsewhere.
bool is_own_host(std::string_view host, const Address& address, const std::vector<std::string>& names);
// The names of this machine, for an address that others can reach: its name, and that of multicast DNS.
std::vector<std::string> names_of_machine();

// Whether the header Origin (empty: none, a program) is that of a page of this server.
bool is_own_origin(std::string_view origin, bool tls, std::string_view host);

}  // namespace runnel::net
