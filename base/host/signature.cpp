#include "base/host/signature.h"

#include <sodium.h>

#include "base/host/late_library.h"

namespace runnel::crypto {
namespace {

// clang-format off
#define RUNNEL_SODIUM(F) \
  F(crypto_sign_ed25519_detached) F(crypto_sign_ed25519_seed_keypair) F(crypto_sign_ed25519_verify_detached) \
  F(randombytes_buf) F(sodium_init)
// clang-format on
struct Sodium {
  static constexpr const char* kFile = RUNNEL_SODIUM_FILE;
  static constexpr const char* kPurpose = "signatures of model images";
  RUNNEL_LATE_FUNCTIONS(RUNNEL_SODIUM)
};

Result<const Sodium*> sodium() {
  const Result<Sodium>& opened = late<Sodium>();
  if (!opened.ok()) return opened.status();
  // Thread-safe, and quick the second time.
  if (opened->sodium_init() < 0) return Status(Code::io_error, "libsodium cannot be started");
  return &*opened;
}

// Public and secret key, wiped.
struct Pair {
  PublicKey open{};
  std::array<std::uint8_t, 64> secret{};
  ~Pair() { wipe(std::as_writable_bytes(std::span(secret))); }
};

const unsigned char* in(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

bool can_sign() noexcept { return late<Sodium>().ok(); }

Result<SigningKey> SigningKey::make() {
  RUNNEL_ASSIGN(const Sodium* const library, sodium());
  std::array<std::uint8_t, kBytes> seed{};
  library->randombytes_buf(seed.data(), seed.size());
  Result<SigningKey> out = SigningKey(seed);
  wipe(std::as_writable_bytes(std::span(seed)));
  return out;
}

Result<PublicKey> public_key(const SigningKey& key) {
  RUNNEL_ASSIGN(const Sodium* const library, sodium());
  Pair pair;
  library->crypto_sign_ed25519_seed_keypair(pair.open.data(), pair.secret.data(), key.seed().data());
  return pair.open;
}

Result<Signature> sign(const SigningKey& key, std::span<const std::byte> message) {
  RUNNEL_ASSIGN(const Sodium* const library, sodium());
  Pair pair;
  library->crypto_sign_ed25519_seed_keypair(pair.open.data(), pair.secret.data(), key.seed().data());
  Signature out{};
  library->crypto_sign_ed25519_detached(out.data(), nullptr, in(message), message.size(), pair.secret.data());
  return out;
}

Status verify(const PublicKey& key, std::span<const std::byte> message, const Signature& signature) {
  RUNNEL_ASSIGN(const Sodium* const library, sodium());
  if (library->crypto_sign_ed25519_verify_detached(signature.data(), in(message), message.size(),
                                                   key.data()) != 0)
    return Status(Code::invalid_data, "the signature is not of this key and this content");
  return {};
}

}  // namespace runnel::crypto
