#include "tests/services/net/tls/certificate.h"

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <random>

namespace runnel::net::test {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using File = std::unique_ptr<std::FILE, Free>;

void extend(X509* certificate, int kind, const char* text) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, text);
  EXPECT_NE(extension, nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

TlsFiles make_certificate(const std::filesystem::path& folder, const CertificateWish& wish) {
  const TlsFiles files{
      (folder / (wish.name + ".pem")).string(), (folder / (wish.name + ".key")).string(), {}};
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), static_cast<long>(std::random_device()() >> 1U));
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 86400L * wish.first_day);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400L * wish.last_day);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(wish.name.c_str()), -1, -1, 0);
  extend(certificate.get(), NID_basic_constraints, wish.issuer.empty() ? "critical,CA:TRUE" : "CA:FALSE");
  extend(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  if (wish.issuer.empty()) {
    X509_set_issuer_name(certificate.get(), name);
    EXPECT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
  } else {
    const File of_issuer(std::fopen((folder / (wish.issuer + ".pem")).c_str(), "r")),
        of_key(std::fopen((folder / (wish.issuer + ".key")).c_str(), "r"));
    const Certificate issuer(PEM_read_X509(of_issuer.get(), nullptr, nullptr, nullptr));
    const Key signs(PEM_read_PrivateKey(of_key.get(), nullptr, nullptr, nullptr));
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
    EXPECT_GT(X509_sign(certificate.get(), signs.get(), EVP_sha256()), 0);
  }
  const File certificate_file(std::fopen(files.certificate.c_str(), "w")),
      key_file(std::fopen(files.key.c_str(), "w"));
  EXPECT_EQ(PEM_write_X509(certificate_file.get(), certificate.get()), 1);
  EXPECT_EQ(PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
  return files;
}

}  // namespace runnel::net::test
