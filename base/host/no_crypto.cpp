#include "base/host/crypto.h"

namespace runnel::crypto {
namespace {

Status none() {
  return Status(Code::unsupported) << "this build has no cryptography: mbedTLS was not found when it was "
                                      "configured, or RUNNEL_MBEDTLS=OFF";
}

}  // namespace

bool available() noexcept { return false; }

Result<Digest> sha256(std::initializer_list<std::span<const std::byte>>) { return none(); }
Status aes_ctr(const Key&, const Counter&, std::span<std::byte>) { return none(); }
Result<Nonce> fresh_nonce() { return none(); }
Result<Tag> gcm_encrypt(const Key&, const Nonce&, std::span<const std::byte>, std::span<std::byte>) {
  return none();
}
Status gcm_decrypt(const Key&, const Nonce&, std::span<const std::byte>, std::span<std::byte>, const Tag&) {
  return none();
}

}  // namespace runnel::crypto
