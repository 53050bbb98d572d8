#include "apps/image/signing_keys.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <span>
#include <system_error>

#include "apps/support.h"
#include "base/host/output_file.h"
#include "base/host/signature.h"

namespace runnel::apps {

// Neither file is overwritten: devices in the field know the old key.
Status make_signing_keys(const std::string& output) {
  const std::string secret = output + ".key", open = output + ".pub";
  std::error_code ignored;
  for (const std::string& path : {secret, open}) {
    if (std::filesystem::exists(path, ignored))
      return Status(Code::invalid_argument) << path << " is there already, expected the name of a new key";
  }
  RUNNEL_ASSIGN(const crypto::SigningKey key, crypto::SigningKey::make());
  RUNNEL_ASSIGN(const crypto::PublicKey known, crypto::public_key(key));
  std::string digits = crypto::hex(key.seed()) + "\n";
  // Nobody else can read it, from the first byte on.
  const mode_t others = ::umask(077);
  const Status written = write_file(secret, std::as_bytes(std::span(digits)));
  ::umask(others);
  crypto::wipe(std::as_writable_bytes(std::span(digits)));
  RUNNEL_TRY(written);
  const std::string text = crypto::hex(known) + "\n";
  RUNNEL_TRY(write_file(open, std::as_bytes(std::span(text))));
  // For the program of the device.
  fmt::print("static const uint8_t public_key[32] = {{");
  for (std::size_t i = 0; i < known.size(); ++i) fmt::print("{}{}", i == 0 ? "" : ", ", known[i]);
  fmt::print("}};\n");
  say(secret + " signs: keep it secret; " + open + " verifies");
  return {};
}

}  // namespace runnel::apps
