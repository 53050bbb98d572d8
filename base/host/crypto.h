// The cryptography of model files, from mbedTLS: SHA-256, AES-128 in counter mode, AES-128-GCM. A build
// without mbedTLS (RUNNEL_MBEDTLS) has the same functions; each returns an error and never skips its work.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

#include "base/host/key.h"
#include "base/status.h"

namespace runnel::crypto {

using Digest = std::array<std::byte, 32>;
using Counter = std::array<std::byte, 16>;
using Nonce = std::array<std::byte, 12>;
using Tag = std::array<std::byte, 16>;

// Whether this build knows mbedTLS and this machine has it.
bool available() noexcept;

// SHA-256 of the concatenated pieces. Errors: unsupported without mbedTLS (not_found where this machine lacks
// it).
Result<Digest> sha256(std::initializer_list<std::span<const std::byte>> pieces);

// AES-128 in counter mode, in place; encryption and decryption are the same operation. `initial` is the
// first counter block, which counts up as a big-endian number. A wrong key is not detected. Errors:
// unsupported without mbedTLS.
Status aes_ctr(const Key& key, const Counter& initial, std::span<std::byte> data);

// A fresh nonce: 96 random bits from the operating system's entropy through CTR_DRBG. Errors: unsupported
// without mbedTLS; io_error when there is no entropy.
Result<Nonce> fresh_nonce();

// AES-128-GCM, in place: encrypts `data` and gives the tag over `associated` and `data`. A nonce is used once
// per key. Errors: unsupported without mbedTLS.
Result<Tag> gcm_encrypt(const Key& key, const Nonce& nonce, std::span<const std::byte> associated,
                        std::span<std::byte> data);

// Decrypts `data` and checks the tag. Errors: invalid_data for a wrong tag (another key, or a change in
// `associated`, `data`, nonce or tag); `data` is then all zero, so that nothing unauthenticated can be used.
// unsupported without mbedTLS.
Status gcm_decrypt(const Key& key, const Nonce& nonce, std::span<const std::byte> associated,
                   std::span<std::byte> data, const Tag& tag);

}  // namespace runnel::crypto
