#include "base/host/crypto.h"
#include "inference/host/engine.h"
#include "services/models/fetch/download.h"

namespace runnel::models {

Result<std::string> sha256_of_file(const std::string& file) {
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_whole_file(file));
  RUNNEL_ASSIGN(const crypto::Digest digest, crypto::sha256({bytes}));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte value : digest) {
    text += kDigits[std::to_integer<unsigned>(value) >> 4U];
    text += kDigits[std::to_integer<unsigned>(value) & 15U];
  }
  return text;
}

}  // namespace runnel::models
