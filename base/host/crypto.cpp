#include "base/host/crypto.h"

#include <mbedtls/aes.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/gcm.h>
#include <mbedtls/md.h>
#include <mbedtls/platform_util.h>

namespace runnel::crypto {
namespace {

const unsigned char* in(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* out(std::span<std::byte> bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

// An mbedTLS context, which mbedTLS wipes when it is freed.
template <class T, void (*init)(T*), void (*release)(T*)>
struct Context {
  T value;
  Context() { init(&value); }
  ~Context() { release(&value); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  T* operator&() { return &value; }  // NOLINT(google-runtime-operator): only for the C interface
};
using AesContext = Context<mbedtls_aes_context, mbedtls_aes_init, mbedtls_aes_free>;
using GcmContext = Context<mbedtls_gcm_context, mbedtls_gcm_init, mbedtls_gcm_free>;
using MdContext = Context<mbedtls_md_context_t, mbedtls_md_init, mbedtls_md_free>;
using EntropyContext = Context<mbedtls_entropy_context, mbedtls_entropy_init, mbedtls_entropy_free>;
using DrbgContext = Context<mbedtls_ctr_drbg_context, mbedtls_ctr_drbg_init, mbedtls_ctr_drbg_free>;

Status failed(const char* what, int error) {
  return Status(Code::io_error) << what << ": mbedTLS reports error " << error;
}

}  // namespace

bool available() noexcept { return true; }

void wipe(std::span<std::byte> secret) noexcept {
  if (!secret.empty()) mbedtls_platform_zeroize(secret.data(), secret.size());
}

Result<Digest> sha256(std::initializer_list<std::span<const std::byte>> pieces) {
  MdContext md;
  Digest digest{};
  int error = mbedtls_md_setup(&md, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 0);
  if (error == 0) error = mbedtls_md_starts(&md);
  for (const auto& piece : pieces) {
    if (error == 0 && !piece.empty()) error = mbedtls_md_update(&md, in(piece), piece.size());
  }
  if (error == 0) error = mbedtls_md_finish(&md, out(digest));
  if (error != 0) return failed("SHA-256", error);
  return digest;
}

Status aes_ctr(const Key& key, const Counter& initial, std::span<std::byte> data) {
  AesContext aes;
  Counter counter = initial, stream{};
  std::size_t used = 0;
  int error = mbedtls_aes_setkey_enc(&aes, in(key.bytes()), 128);
  if (error == 0)
    error = mbedtls_aes_crypt_ctr(&aes, data.size(), &used, out(counter), out(stream), in(data), out(data));
  wipe(stream);
  return error == 0 ? Status() : failed("AES-128-CTR", error);
}

Result<Nonce> fresh_nonce() {
  EntropyContext entropy;
  DrbgContext drbg;
  static constexpr unsigned char kPurpose[] = {'r', 'u', 'n', 'n', 'e', 'l'};
  Nonce nonce{};
  int error = mbedtls_ctr_drbg_seed(&drbg, mbedtls_entropy_func, &entropy, kPurpose, sizeof kPurpose);
  if (error == 0) error = mbedtls_ctr_drbg_random(&drbg, out(nonce), nonce.size());
  if (error != 0) return failed("random numbers", error);
  return nonce;
}

Result<Tag> gcm_encrypt(const Key& key, const Nonce& nonce, std::span<const std::byte> associated,
                        std::span<std::byte> data) {
  GcmContext gcm;
  Tag tag{};
  int error = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, in(key.bytes()), 128);
  if (error == 0) {
    error = mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, data.size(), in(nonce), nonce.size(),
                                      in(associated), associated.size(), in(data), out(data), tag.size(),
                                      out(tag));
  }
  if (error != 0) return failed("AES-128-GCM", error);
  return tag;
}

Status gcm_decrypt(const Key& key, const Nonce& nonce, std::span<const std::byte> associated,
                   std::span<std::byte> data, const Tag& tag) {
  GcmContext gcm;
  int error = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, in(key.bytes()), 128);
  if (error == 0) {
    error = mbedtls_gcm_auth_decrypt(&gcm, data.size(), in(nonce), nonce.size(), in(associated),
                                     associated.size(), in(tag), tag.size(), in(data), out(data));
  }
  if (error == 0) return {};
  wipe(data);
  if (error == MBEDTLS_ERR_GCM_AUTH_FAILED)
    return Status(Code::invalid_data)
           << "the authentication tag does not fit: another key, or a changed file";
  return failed("AES-128-GCM", error);
}

}  // namespace runnel::crypto
