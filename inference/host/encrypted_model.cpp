#include "inference/host/encrypted_model.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "inference/model/model.h"

namespace runnel {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kNonceAt = 16, kReservedAt = 28, kTagAt = 32;

std::uint64_t read_number(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
  return value;
}
void write_number(std::span<std::byte> bytes, std::size_t offset, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i) bytes[offset + i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace

bool is_encrypted_model(std::span<const std::byte> file) noexcept {
  return file.size() >= kEncryptedMagic.size() &&
         std::memcmp(file.data(), kEncryptedMagic.data(), kEncryptedMagic.size()) == 0;
}

Result<std::vector<std::byte>> encrypt_model(std::span<const std::byte> plain, const crypto::Key& key) {
  std::vector<std::byte> file(kEncryptedHeaderBytes + plain.size());
  std::memcpy(file.data(), kEncryptedMagic.data(), kEncryptedMagic.size());
  write_number(file, 4, 4, kVersion);
  write_number(file, 8, 8, plain.size());
  RUNNEL_ASSIGN(const crypto::Nonce nonce, crypto::fresh_nonce());
  std::copy(nonce.begin(), nonce.end(), file.begin() + kNonceAt);
  std::copy(plain.begin(), plain.end(), file.begin() + kEncryptedHeaderBytes);
  RUNNEL_ASSIGN(const crypto::Tag tag, crypto::gcm_encrypt(key, nonce, std::span(file).first(kTagAt),
                                                           std::span(file).subspan(kEncryptedHeaderBytes)));
  std::copy(tag.begin(), tag.end(), file.begin() + kTagAt);
  return file;
}

Result<std::size_t> encrypted_model_bytes(std::span<const std::byte> file) {
  const auto bad = [] { return Status(Code::invalid_data) << "encrypted model: "; };
  if (!is_encrypted_model(file)) return bad() << "expected " << kEncryptedMagic << " at byte 0";
  if (file.size() < kEncryptedHeaderBytes)
    return bad() << file.size() << " bytes, expected at least " << kEncryptedHeaderBytes << " for its header";
  const std::uint64_t version = read_number(file, 4, 4), length = read_number(file, 8, 8),
                      reserved = read_number(file, kReservedAt, 4);
  if (version != kVersion)
    return Status(Code::unsupported) << "encrypted model: version " << version << ", this reader knows "
                                     << kVersion;
  if (reserved != 0) return bad() << "byte " << kReservedAt << ": " << reserved << ", expected 0";
  if (length != file.size() - kEncryptedHeaderBytes) {
    return bad() << length << " bytes announced, the file has " << file.size() - kEncryptedHeaderBytes
                 << " after its header: it is cut short or damaged";
  }
  return static_cast<std::size_t>(length);
}

Status decrypt_model(std::span<const std::byte> file, const crypto::Key* key, std::span<std::byte> plain) {
  RUNNEL_ASSIGN(const std::size_t bytes, encrypted_model_bytes(file));
  if (plain.size() != bytes)
    return Status(Code::invalid_argument)
           << "encrypted model: room for " << plain.size() << " bytes, expected " << bytes;
  if (key == nullptr)
    return Status(Code::invalid_argument,
                  "the model is encrypted, and there is no key: give one in a file or in the environment");
  crypto::Nonce nonce;
  crypto::Tag tag;
  std::copy_n(file.begin() + kNonceAt, nonce.size(), nonce.begin());
  std::copy_n(file.begin() + kTagAt, tag.size(), tag.begin());
  const auto data = file.subspan(kEncryptedHeaderBytes);
  std::copy(data.begin(), data.end(), plain.begin());
  return crypto::gcm_decrypt(*key, nonce, file.first(kTagAt), plain, tag).at("encrypted model");
}

}  // namespace runnel
