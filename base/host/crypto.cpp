#include "base/host/crypto.h"

#include <mbedtls/aes.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/gcm.h>
#include <mbedtls/md.h>

#include "base/host/late_library.h"

namespace runnel::crypto {
namespace {

const unsigned char* in(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* out(std::span<std::byte> bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

// clang-format off
#define RUNNEL_MBEDTLS(F) \
  F(mbedtls_aes_crypt_ctr) F(mbedtls_aes_free) F(mbedtls_aes_init) F(mbedtls_aes_setkey_enc) \
  F(mbedtls_ctr_drbg_free) F(mbedtls_ctr_drbg_init) F(mbedtls_ctr_drbg_random) F(mbedtls_ctr_drbg_seed) \
  F(mbedtls_entropy_free) F(mbedtls_entropy_func) F(mbedtls_entropy_init) F(mbedtls_gcm_auth_decrypt) \
  F(mbedtls_gcm_crypt_and_tag) F(mbedtls_gcm_free) F(mbedtls_gcm_init) F(mbedtls_gcm_setkey) \
  F(mbedtls_md_finish) F(mbedtls_md_free) F(mbedtls_md_info_from_type) F(mbedtls_md_init) \
  F(mbedtls_md_setup) F(mbedtls_md_starts) F(mbedtls_md_update)
// clang-format on
struct Mbedtls {
  static constexpr const char* kFile = RUNNEL_MBEDTLS_FILE;
  static constexpr const char* kPurpose = "encrypted models and checksums";
  RUNNEL_LATE_FUNCTIONS(RUNNEL_MBEDTLS)
};

// An mbedTLS context, which mbedTLS wipes when it is freed.
template <class T, auto init, auto release>
struct Context {
  const Mbedtls& library;
  T value;
  explicit Context(const Mbedtls& from) : library(from) { (library.*init)(&value); }
  ~Context() { (library.*release)(&value); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  T* operator&() { return &value; }  // NOLINT(google-runtime-operator): only for the C interface
};
using AesContext = Context<mbedtls_aes_context, &Mbedtls::mbedtls_aes_init, &Mbedtls::mbedtls_aes_free>;
using GcmContext = Context<mbedtls_gcm_context, &Mbedtls::mbedtls_gcm_init, &Mbedtls::mbedtls_gcm_free>;
using MdContext = Context<mbedtls_md_context_t, &Mbedtls::mbedtls_md_init, &Mbedtls::mbedtls_md_free>;
using EntropyContext =
    Context<mbedtls_entropy_context, &Mbedtls::mbedtls_entropy_init, &Mbedtls::mbedtls_entropy_free>;
using DrbgContext =
    Context<mbedtls_ctr_drbg_context, &Mbedtls::mbedtls_ctr_drbg_init, &Mbedtls::mbedtls_ctr_drbg_free>;

Result<const Mbedtls*> mbedtls() {
  const Result<Mbedtls>& opened = late<Mbedtls>();
  if (!opened.ok()) return opened.status();
  return &*opened;
}

Status failed(const char* what, int error) {
  return Status(Code::io_error) << what << ": mbedTLS reports error " << error;
}

}  // namespace

bool available() noexcept { return late<Mbedtls>().ok(); }

Result<Digest> sha256(std::initializer_list<std::span<const std::byte>> pieces) {
  RUNNEL_ASSIGN(const Mbedtls* const library, mbedtls());
  MdContext md(*library);
  Digest digest{};
  int error = library->mbedtls_md_setup(&md, library->mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 0);
  if (error == 0) error = library->mbedtls_md_starts(&md);
  for (const auto& piece : pieces) {
    if (error == 0 && !piece.empty()) error = library->mbedtls_md_update(&md, in(piece), piece.size());
  }
  if (error == 0) error = library->mbedtls_md_finish(&md, out(digest));
  if (error != 0) return failed("SHA-256", error);
  return digest;
}

Status aes_ctr(const Key& key, const Counter& initial, std::span<std::byte> data) {
  RUNNEL_ASSIGN(const Mbedtls* const library, mbedtls());
  AesContext aes(*library);
  Counter counter = initial, stream{};
  std::size_t used = 0;
  int error = library->mbedtls_aes_setkey_enc(&aes, in(key.bytes()), 128);
  if (error == 0)
    error = library->mbedtls_aes_crypt_ctr(&aes, data.size(), &used, out(counter), out(stream), in(data),
                                           out(data));
  wipe(stream);
  return error == 0 ? Status() : failed("AES-128-CTR", error);
}

Result<Nonce> fresh_nonce() {
  RUNNEL_ASSIGN(const Mbedtls* const library, mbedtls());
  EntropyContext entropy(*library);
  DrbgContext drbg(*library);
  static constexpr unsigned char kPurpose[] = {'r', 'u', 'n', 'n', 'e', 'l'};
  Nonce nonce{};
  int error = library->mbedtls_ctr_drbg_seed(&drbg, library->mbedtls_entropy_func, &entropy, kPurpose,
                                             sizeof kPurpose);
  if (error == 0) error = library->mbedtls_ctr_drbg_random(&drbg, out(nonce), nonce.size());
  if (error != 0) return failed("random numbers", error);
  return nonce;
}

Result<Tag> gcm_encrypt(const Key& key, const Nonce& nonce, std::span<const std::byte> associated,
                        std::span<std::byte> data) {
  RUNNEL_ASSIGN(const Mbedtls* const library, mbedtls());
  GcmContext gcm(*library);
  Tag tag{};
  int error = library->mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, in(key.bytes()), 128);
  if (error == 0) {
    error = library->mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, data.size(), in(nonce),
                                               nonce.size(), in(associated), associated.size(), in(data),
                                               out(data), tag.size(), out(tag));
  }
  if (error != 0) return failed("AES-128-GCM", error);
  return tag;
}

Status gcm_decrypt(const Key& key, const Nonce& nonce, std::span<const std::byte> associated,
                   std::span<std::byte> data, const Tag& tag) {
  RUNNEL_ASSIGN(const Mbedtls* const library, mbedtls());
  GcmContext gcm(*library);
  int error = library->mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, in(key.bytes()), 128);
  if (error == 0) {
    error = library->mbedtls_gcm_auth_decrypt(&gcm, data.size(), in(nonce), nonce.size(), in(associated),
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
