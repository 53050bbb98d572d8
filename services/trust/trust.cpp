#include "services/trust/trust.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/sha256.h"
#include "services/trust/signature_file.h"

namespace runnel::trust {
namespace {

constexpr std::size_t kMostNamed = 3;  // a sentence has its bounds

// Enough of a key to compare it with another.
std::string short_form(const TrustedKey& key) {
  return key.name + " (" + crypto::hex(std::span(key.key).first(6)) + "...)";
}

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

// Of read_signatures_by(); empty: the file system.
ReadSignature& signature_reader() {
  static ReadSignature reader;
  return reader;
}

// One byte more than a signature has, so that a longer file is found out. Empty: there is none.
Result<std::vector<std::byte>> read_signature(const std::filesystem::path& path) {
  if (signature_reader()) return signature_reader()(path);
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    if (errno == ENOENT) return std::vector<std::byte>();
    return Status(Code::io_error) << path.string() << ": " << std::strerror(errno);
  }
  std::vector<std::byte> bytes(embed::kImageHeaderBytes + 1);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) return Status(Code::io_error) << path.string() << ": cannot be read";
  if (bytes.empty()) return Status(Code::invalid_data) << path.string() << ": empty, expected a signature";
  return bytes;
}

}  // namespace

Result<std::shared_ptr<const Trust>> Trust::read(const std::string& place) {
  RUNNEL_ASSIGN(TrustedKeys keys, read_trusted_keys(place));
  return std::shared_ptr<const Trust>(std::make_shared<Trust>(std::move(keys)));
}

std::string Trust::expected() const {
  std::string text;
  std::size_t named = 0, good = 0;
  for (const TrustedKey& key : keys_.keys) {
    if (!key.revoked.empty()) continue;
    ++good;
    if (named == kMostNamed) continue;
    ++named;
    text += (text.empty() ? "" : ", ") + short_form(key);
  }
  if (good == 0) return "none: all keys of " + keys_.place + " are revoked";
  if (good > named) text += " or " + std::to_string(good - named) + " others of " + keys_.place;
  return (good == 1 ? "the key " : "one of the keys ") + text;
}

Result<SignedBy> Trust::check(std::span<const std::byte> content, std::span<const std::byte> signature,
                              std::string_view stem) const {
  if (signature.empty())
    return Status(Code::invalid_data) << "unsigned, expected a signature of " << expected();
  const auto wrongly = [&] { return Status(Code::invalid_data) << "wrongly signed: "; };
  if (signature.size() != embed::kImageHeaderBytes)
    return wrongly() << "a signature of " << signature.size() << " bytes or more, expected "
                     << embed::kImageHeaderBytes;
  const auto header = embed::read_image_header(signature.first<embed::kImageHeaderBytes>());
  if (!header.ok()) return wrongly() << header.status().text() << "; expected a signature of " << expected();
  if (!header->is_signed)
    return Status(Code::invalid_data) << "unsigned, expected a signature of " << expected();
  const TrustedKey* signer = nullptr;
  for (const TrustedKey& key : keys_.keys) {
    const Status fits = crypto::verify(key.key, signature.first(embed::kSignedBytes), header->signature);
    if (fits.ok())
      signer = &key;
    else if (fits.code() != Code::invalid_data)
      return fits;  // without libsodium nothing is taken
  }
  if (signer == nullptr) return wrongly() << "by another key, expected " << expected();
  if (!signer->revoked.empty())
    return wrongly() << "the key " << short_form(*signer) << " is revoked (" << signer->revoked
                     << "), expected " << expected();
  if (header->length != content.size())
    return Status(Code::invalid_data) << "changed since it was signed with the key " << short_form(*signer)
                                      << ": " << content.size() << " bytes, expected " << header->length;
  if (const Sha256Digest found = sha256(content); found != header->digest)
    return Status(Code::invalid_data)
           << "changed since it was signed with the key " << short_form(*signer) << ": the SHA-256 is "
           << crypto::hex(found) << ", expected " << crypto::hex(header->digest);
  SignedBy out{header->name.data(), header->version, signer->name};
  const std::string_view here = signed_name(stem);
  if (here != out.name && keys_.lowest_of_model.contains(here))
    return Status(Code::mismatch) << "another model: signed as " << out.name << " with the key "
                                  << short_form(*signer) << ", expected " << here;
  std::uint32_t lowest = signer->lowest_version;
  if (const auto at = keys_.lowest_of_model.find(out.name); at != keys_.lowest_of_model.end())
    lowest = std::max(lowest, at->second);
  if (header->version < lowest)
    return Status(Code::mismatch) << "too old: version " << header->version << " of " << out.name
                                  << " with the key " << short_form(*signer) << ", expected at least "
                                  << lowest;
  return out;
}

Result<SignedBy> Trust::check_file(const std::filesystem::path& file,
                                   std::span<const std::byte> content) const {
  RUNNEL_ASSIGN(const std::vector<std::byte> signature, read_signature(signature_place(file)));
  auto found = check(content, signature, file.filename().string());
  if (found.ok()) return found;
  if (signature.empty())
    return Status(found.status().code()) << file.string() << ": " << found.status().text() << " in "
                                         << signature_place(file).filename().string();
  return found.status().at(file.string());
}

void read_signatures_by(ReadSignature read) { signature_reader() = std::move(read); }

Result<SignedBy> Trust::check_image(std::span<const std::byte> image, std::string_view stem) const {
  if (image.size() < embed::kImageHeaderBytes) return check({}, {}, stem);
  return check(image.subspan(embed::kImageHeaderBytes), image.first(embed::kImageHeaderBytes), stem);
}

Verify verifier(std::shared_ptr<const Trust> trust) {
  if (trust == nullptr) return {};
  return [trust = std::move(trust)](const std::filesystem::path& file, std::span<const std::byte> content) {
    return trust->check_file(file, content).status();
  };
}

Result<std::shared_ptr<const Trust>> trust_of_environment() {
  const char* const place = std::getenv("RUNNEL_TRUST");
  if (place == nullptr || *place == '\0') return std::shared_ptr<const Trust>();
  auto trust = Trust::read(place);
  if (!trust.ok()) return trust.status().at("RUNNEL_TRUST");
  return trust;
}

}  // namespace runnel::trust
