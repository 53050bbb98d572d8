// The parameters of a server and its user, which all nodes of NATS have.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "pipeline/node.h"
#include "services/fleet/nats/wire.h"

namespace runnel::fleet {

// `Base`: a Node.
template <class Base>
class NatsNode : public Base {
 public:
  std::string_view url = "nats://127.0.0.1:4222";
  std::string_view credentials, nkey, user, password_file, token_file, ca, certificate, key, server_name,
      inbox;

 protected:
  [[nodiscard]] Wire::Settings settings(std::string name) const {
    Wire::Settings out;
    out.urls = url;
    out.name = std::move(name);
    out.credentials = credentials;
    out.nkey = nkey;
    out.user = user;
    out.password_file = password_file;
    out.token_file = token_file;
    out.certificates = ca;
    out.certificate = certificate;
    out.key = key;
    out.server_name = server_name;
    out.inbox = inbox;
    return out;
  }
};

template <class Base>
constexpr auto nats_parameters() {
  using N = NatsNode<Base>;
  using pipeline::text_parameter;
  return std::array{
      text_parameter<&N::url>("url", "",
                              "addresses of the servers, with commas: nats://HOST:PORT, tls://HOST:PORT"),
      text_parameter<&N::credentials>("credentials", "", "file with the credentials of a NATS user (.creds)"),
      text_parameter<&N::nkey>("nkey", "", "file with public key and seed of a user, one a line"),
      text_parameter<&N::user>("user", "",
                               "name of the user, with password_file or the variable NATS_PASSWORD"),
      text_parameter<&N::password_file>("password_file", "", "file with the password"),
      text_parameter<&N::token_file>("token_file", "", "file with the server's token"),
      text_parameter<&N::ca>("ca", "",
                             "file with the authorities that signed the servers' certificates (PEM)"),
      text_parameter<&N::certificate>("certificate", "",
                                      "file with a certificate of this client (PEM), with key"),
      text_parameter<&N::key>("key", "", "file with its key (PEM)"),
      text_parameter<&N::server_name>("server_name", "",
                                      "name in the servers' certificates; empty: the host of url"),
      text_parameter<&N::inbox>("inbox", "", "beginning of the subjects for answers; empty: _INBOX")};
}

// Those of a node itself, and these.
template <std::size_t own, std::size_t common>
constexpr auto joined(const std::array<pipeline::Parameter, own>& first,
                      const std::array<pipeline::Parameter, common>& rest) {
  std::array<pipeline::Parameter, own + common> out{};
  for (std::size_t i = 0; i < own; ++i) out[i] = first[i];
  for (std::size_t i = 0; i < common; ++i) out[own + i] = rest[i];
  return out;
}

}  // namespace runnel::fleet
