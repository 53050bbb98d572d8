// The public keys whose signatures of models are taken (docs/signing.md).
//
//     [key.maker]                      # one key of a list
//     public = "64 hexadecimal digits"
//     lowest_version = 3               # lower versions that this key has signed are too old
//
//     [key.lost]
//     public = "..."
//     revoked = "2026-10-01, on a stolen laptop"
//
//     [model.digits]
//     lowest_version = 7               # whoever has signed it
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/signature.h"
#include "base/status.h"

namespace runnel::trust {

struct TrustedKey {
  std::string name;
  crypto::PublicKey key{};
  std::uint32_t lowest_version = 0;
  std::string revoked;  // why; empty: it is not
  std::string place;    // the file that has it
};

struct TrustedKeys {
  std::string place;  // as it was given
  std::vector<TrustedKey> keys;
  // By the name under which a model was signed.
  std::map<std::string, std::uint32_t, std::less<>> lowest_of_model;
};

// Reads a list. Errors: invalid_data, with the line.
Result<TrustedKeys> parse_key_list(std::string_view text);

// From a public key (a file of 64 hexadecimal digits; its name is that of the file), a list, or a folder with
// any number of both (*.pub, *.toml). A key that is there several times is revoked if it is so once, and its
// highest `lowest_version` holds. Errors name the file: not_found, io_error, invalid_data; also when there is
// no key at all.
Result<TrustedKeys> read_trusted_keys(const std::string& place);

}  // namespace runnel::trust
