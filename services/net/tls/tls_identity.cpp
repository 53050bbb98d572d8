#include "services/net/tls/tls_identity.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace runnel::net {
namespace {

// Why a file was refused, as OpenSSL says it.
Status refused(const std::string& path, std::string_view what) {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = error != 0 ? ERR_reason_error_string(error) : nullptr;
  Status status(Code::invalid_data);
  status << path << ": not " << what << (reason != nullptr ? ": " : "") << (reason != nullptr ? reason : "");
  ERR_clear_error();
  return status;
}

Status check_readable(const std::string& path) {
  if (access(path.c_str(), R_OK) == 0) return {};
  return Status(Code::not_found) << path << ": cannot be read: " << std::strerror(errno);
}

std::string date_of(const ASN1_TIME* time) {
  std::tm parts{};
  std::array<char, 32> text{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown day";
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return text.data();
}

// Clients would refuse it, each with a sentence of its own that nobody reads.
Status check_time(const SSL_CTX* context, const std::string& path) {
  const X509* const certificate = SSL_CTX_get0_certificate(context);
  const ASN1_TIME* const first = X509_get0_notBefore(certificate);
  const ASN1_TIME* const last = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(last) < 0) {
    return Status(Code::invalid_data) << path << ": the certificate was valid until " << date_of(last)
                                      << ", expected one that is valid now";
  }
  if (X509_cmp_current_time(first) > 0) {
    return Status(Code::invalid_data) << path << ": the certificate is valid from " << date_of(first)
                                      << " on, expected one that is valid now";
  }
  return {};
}

Status ask_for_clients(SSL_CTX* context, const std::string& authorities) {
  RUNNEL_TRY(check_readable(authorities));
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(authorities.c_str());
  if (names == nullptr || SSL_CTX_load_verify_locations(context, authorities.c_str(), nullptr) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return refused(authorities, "certificates of authorities in PEM format");
  }
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

Result<TlsContext> context_of(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty()) {
    return Status(Code::invalid_argument) << "TLS needs both a certificate and its key, found only "
                                          << (!files.certificate.empty() ? "a certificate"
                                              : !files.key.empty()       ? "a key"
                                                                         : "authorities");
  }
  RUNNEL_TRY(check_readable(files.certificate));
  RUNNEL_TRY(check_readable(files.key));
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return Status(Code::out_of_memory, "no memory for TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Idle connections keep no buffers of theirs.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  constexpr std::string_view kName = "runnel";
  SSL_CTX_set_session_id_context(context.get(), reinterpret_cast<const unsigned char*>(kName.data()),
                                 kName.size());
  // A key with a passphrase is refused; the default would ask at the terminal.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1)
    return refused(files.certificate, "a certificate in PEM format");
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return refused(files.key,
                   "a key in PEM format without a passphrase that belongs to " + files.certificate);
  if (SSL_CTX_check_private_key(context.get()) != 1)
    return refused(files.key, "the key of " + files.certificate);
  RUNNEL_TRY(check_time(context.get(), files.certificate));
  if (!files.client_ca.empty()) RUNNEL_TRY(ask_for_clients(context.get(), files.client_ca));
  return context;
}

}  // namespace

Result<std::unique_ptr<TlsIdentity>> TlsIdentity::read(const TlsFiles& files) {
  RUNNEL_ASSIGN(TlsContext context, context_of(files));
  return std::unique_ptr<TlsIdentity>(new TlsIdentity(files, std::move(context)));
}

Status TlsIdentity::reload() {
  RUNNEL_ASSIGN(TlsContext context, context_of(files_));
  const std::lock_guard lock(mutex_);
  context_.swap(context);  // connections keep the one that they have
  return {};
}

TlsConnection TlsIdentity::begin() const {
  const std::lock_guard lock(mutex_);
  TlsConnection connection(SSL_new(context_.get()));
  if (connection != nullptr) SSL_set_accept_state(connection.get());
  return connection;
}

}  // namespace runnel::net
