// Signatures and encrypted models on boards, by kept libraries that are built from their sources: Ed25519 of
// libsodium, and AES-128-GCM of mbedTLS. The two functions are the callbacks of embed/partition.
#pragma once

#include <cstddef>
#include <cstdint>

namespace runnel::firmware {

// runnel_verify_function; `user`: the public key, 32 bytes.
int verify_ed25519(void* user, const std::uint8_t* message, std::size_t bytes,
                   const std::uint8_t signature[64]);

// What decrypt_gcm() is given.
struct Cipher {
  std::uint8_t key[16];
};
// runnel_decrypt_function for a Cipher.
int decrypt_gcm(const Cipher& with, const std::uint8_t nonce[12], const std::uint8_t associated[32],
                void* data, std::size_t bytes, const std::uint8_t tag[16]);

}  // namespace runnel::firmware
