// The page that asks a browser for the token.
#pragma once

#include <string>
#include <string_view>

#include "services/net/http_server.h"

namespace runnel::net {

// Where its form goes, by POST.
inline constexpr std::string_view kLogin = "/login";

// With status 401. `again`: what was shown is wrong.
HttpReply login_page(bool again);

// A token as the value of a cookie: bytes that cookies cannot have become %XX.
std::string to_cookie(std::string_view token);
std::string from_cookie(std::string_view value);

}  // namespace runnel::net
