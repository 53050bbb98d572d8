#include "services/trust/signature_file.h"

#include <algorithm>
#include <limits>

#include "base/sha256.h"

namespace runnel::trust {
namespace {

constexpr std::size_t kMostName = sizeof(embed::ImageHeader::name) - 1;

}  // namespace

std::filesystem::path signature_place(const std::filesystem::path& file) {
  std::filesystem::path out = file;
  out += ".sig";
  return out;
}

std::string_view signed_name(std::string_view file_name) {
  file_name.remove_prefix(file_name.rfind('/') + 1);  // npos + 1 is 0
  if (const std::size_t dot = file_name.rfind('.'); dot != std::string_view::npos && dot > 0)
    file_name = file_name.substr(0, dot);
  return file_name.substr(0, kMostName);
}

Result<embed::ImageHeaderBytes> sign_content(std::span<const std::byte> content, std::string_view name,
                                             std::uint32_t version, const crypto::SigningKey& key) {
  if (name.empty() || name.size() > kMostName || name.find('\0') != std::string_view::npos)
    return Status(Code::invalid_argument)
           << "the name \"" << name << "\" to sign under, expected 1 to " << kMostName << " bytes";
  if (content.size() > std::numeric_limits<std::uint32_t>::max())
    return Status(Code::unsupported) << content.size() << " bytes to sign, expected less than 4 GiB";
  embed::ImageHeader header;
  header.is_signed = true;
  header.length = static_cast<std::uint32_t>(content.size());
  header.version = version;
  std::ranges::copy(name, header.name.begin());
  header.digest = sha256(content);
  const embed::ImageHeaderBytes unsigned_bytes = embed::write_image_header(header);
  RUNNEL_ASSIGN(header.signature, crypto::sign(key, std::span(unsigned_bytes).first(embed::kSignedBytes)));
  return embed::write_image_header(header);
}

}  // namespace runnel::trust
