#include "base/host/signature.h"

namespace runnel::crypto {
namespace {

Status none() {
  return Status(Code::unsupported) << "this build has no signatures: libsodium was not found when it was "
                                      "configured, or RUNNEL_SODIUM=OFF";
}

}  // namespace

bool can_sign() noexcept { return false; }

Result<SigningKey> SigningKey::make() { return none(); }
Result<PublicKey> public_key(const SigningKey&) { return none(); }
Result<Signature> sign(const SigningKey&, std::span<const std::byte>) { return none(); }
Status verify(const PublicKey&, std::span<const std::byte>, const Signature&) { return none(); }

}  // namespace runnel::crypto
