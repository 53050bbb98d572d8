#include "services/net/login_page.h"

#include <cstddef>

namespace runnel::net {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool is_plain(char letter) noexcept {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z') ||
         std::string_view("-_.~+/=").find(letter) != std::string_view::npos;
}

}  // namespace

HttpReply login_page(bool again) {
  HttpReply reply;
  reply.status = 401;
  // Not no-referrer, with which browsers would hide the origin of the form.
  reply.headers = {{"Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
                    "frame-ancestors 'none'"},
                   {"Cache-Control", "no-store"},
                   {"Referrer-Policy", "same-origin"}};
  reply.type = "text/html; charset=utf-8";
  reply.body = std::string(R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>runnel</title>
<style>body{font:16px sans-serif;margin:4em auto;max-width:24em}input,button{font:inherit;padding:.4em}</style>
<form method="post" action="/login">
<p><label for="token">)") +
               (again ? "That is not the token. Try again:" : "This page asks for a token:") +
               R"(</label></p>
<p><input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Open</button></p>
</form>
</html>
)";
  return reply;
}

std::string to_cookie(std::string_view token) {
  std::string value;
  for (const char letter : token) {
    if (is_plain(letter)) {
      value += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    value += '%';
    value += kDigits[byte >> 4U];
    value += kDigits[byte & 15U];
  }
  return value;
}

std::string from_cookie(std::string_view value) {
  std::string token;
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] != '%' || at + 2 >= value.size()) {
      token += value[at];
      continue;
    }
    const std::size_t high = kDigits.find(value[at + 1]), low = kDigits.find(value[at + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    token += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return token;
}

}  // namespace runnel::net
