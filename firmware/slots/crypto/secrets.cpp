#include "firmware/slots/crypto/secrets.h"

#include <cstring>

#include "crypto_sign_ed25519.h"
#include "mbedtls/gcm.h"

// mbedTLS takes memory for the state of one cipher, and gives it back: a board has no heap.
namespace {
alignas(16) unsigned char state_of_cipher[512];
bool taken = false;
}  // namespace

void* runnel_cipher_memory(std::size_t count, std::size_t bytes) {
  if (taken || count * bytes > sizeof state_of_cipher) return nullptr;
  taken = true;
  std::memset(state_of_cipher, 0, sizeof state_of_cipher);
  return state_of_cipher;
}
void runnel_cipher_memory_ends(void* memory) {
  if (memory != nullptr) taken = false;
}

namespace runnel::firmware {

int verify_ed25519(void* user, const std::uint8_t* message, std::size_t bytes,
                   const std::uint8_t signature[64]) {
  return crypto_sign_ed25519_verify_detached(signature, message, bytes,
                                             static_cast<const unsigned char*>(user)) == 0
             ? 1
             : 0;
}

int decrypt_gcm(const Cipher& with, const std::uint8_t nonce[12], const std::uint8_t associated[32],
                void* data, std::size_t bytes, const std::uint8_t tag[16]) {
  mbedtls_gcm_context gcm;
  mbedtls_gcm_init(&gcm);
  int failed = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, with.key, 128);
  auto* const at = static_cast<unsigned char*>(data);
  if (failed == 0) failed = mbedtls_gcm_auth_decrypt(&gcm, bytes, nonce, 12, associated, 32, tag, 16, at, at);
  mbedtls_gcm_free(&gcm);
  return failed == 0 ? 0 : -1;
}

}  // namespace runnel::firmware
