// Encrypted model files: a .rnl file inside AES-128-GCM, for hosts (docs/model-file.md).
//
//   0   RNLE
//   4   u32 version: 1
//   8   u64 length of the plain file
//   16  nonce, 12 bytes, another one in every file
//   28  u32 zero
//   32  tag, 16 bytes
//   48  the encrypted file
//
// The tag covers everything: what precedes it as associated data, what follows it as ciphertext.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/host/crypto.h"
#include "base/status.h"

namespace runnel {

inline constexpr std::size_t kEncryptedHeaderBytes = 48;

bool is_encrypted_model(std::span<const std::byte> file) noexcept;

// A plain .rnl file as an encrypted one, with a fresh nonce. Errors: unsupported in a build without mbedTLS.
Result<std::vector<std::byte>> encrypt_model(std::span<const std::byte> plain, const crypto::Key& key);

// Size of the plain file. Errors: invalid_data with place, expected and found, for a header that is damaged
// or a file of another size than it says; unsupported for a newer version.
Result<std::size_t> encrypted_model_bytes(std::span<const std::byte> file);

// Decrypts into `plain`, of exactly encrypted_model_bytes(). Errors: those above; invalid_data when the tag
// does not fit (wrong key, or any byte of the file changed), and then `plain` is all zero; invalid_argument
// without key; unsupported in a build without mbedTLS.
Status decrypt_model(std::span<const std::byte> file, const crypto::Key* key, std::span<std::byte> plain);

}  // namespace runnel
