// The signature of a file, in a file of its own beside it: MODEL.sig has the 256 bytes that an image of a
// model starts with (embed/partition/image_header.h), so that desk and device check the same bytes. The file
// that is signed does not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/host/signature.h"
#include "base/status.h"
#include "embed/partition/image_header.h"

namespace runnel::trust {

// digits.rnl: digits.rnl.sig
std::filesystem::path signature_place(const std::filesystem::path& file);

// The name under which a file is signed unless another is given: without its folder and ending, at most 31
// bytes.
std::string_view signed_name(std::string_view file_name);

// Signs the bytes of a file. Errors: invalid_argument for a name that is empty or has more than 31 bytes;
// unsupported for more than 4 GiB; those of crypto::sign().
Result<embed::ImageHeaderBytes> sign_content(std::span<const std::byte> content, std::string_view name,
                                             std::uint32_t version, const crypto::SigningKey& key);

}  // namespace runnel::trust
