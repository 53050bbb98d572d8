// Model images (embed/partition/image_header.h) on the desk: made for a profile, signed, verified.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host/key.h"
#include "base/host/signature.h"
#include "base/status.h"
#include "compiler/import/load.h"
#include "embed/partition/image_header.h"
#include "services/embed/partition/profile.h"

namespace runnel::embedding {

// The key in a file; none for an empty path. Errors: those of SigningKey::from_file().
Result<std::optional<crypto::SigningKey>> signing_key(const std::string& path);

// An image of the model, signed where there is a key, its file encrypted where there is a secret. Errors:
// those of signing and encrypting.
Result<std::vector<std::byte>> image_of(const PartitionModel& model, const ProfileId& profile,
                                        std::uint32_t version, const std::optional<crypto::SigningKey>& key,
                                        const std::optional<crypto::Key>& secret = {});

struct ImageRequest {
  std::string model, profile;  // name or file; NAME.profile.json
  std::uint32_t version = 1;
  std::string key;     // file of the signing key; empty: not signed
  std::string secret;  // file of the key to encrypt with; empty: not encrypted
};
// An image for a profile that exists. Errors: those of embed_model() and check_fits(), naming the model; of
// the files.
Result<std::vector<std::byte>> make_image(const ImageRequest& request, const compiler::LoadOptions& load);

// The header of an image, with the model's bytes compared with their digest. Errors: invalid_data,
// unsupported.
Result<embed::ImageHeader> check_image(std::span<const std::byte> image);
// Whether bytes are meant to be an image.
bool is_image(std::span<const std::byte> file);
// Replaces the signature. Errors: those of check_image() and of signing.
Status sign_image(std::vector<std::byte>& image, const crypto::SigningKey& key);
// Also invalid_data for a missing or wrong signature.
Status verify_image(std::span<const std::byte> image, const crypto::PublicKey& key);

}  // namespace runnel::embedding
