#include "services/embed/partition/image.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/sha256.h"
#include "inference/host/encrypted_model.h"

namespace runnel::embedding {
namespace {

Status sign_header(embed::ImageHeader& header, const crypto::SigningKey& key) {
  header.is_signed = true;
  const embed::ImageHeaderBytes bytes = embed::write_image_header(header);
  RUNNEL_ASSIGN(header.signature, crypto::sign(key, std::span(bytes).first(embed::kSignedBytes)));
  return {};
}

}  // namespace

Result<std::optional<crypto::SigningKey>> signing_key(const std::string& path) {
  if (path.empty()) return std::optional<crypto::SigningKey>();
  RUNNEL_ASSIGN(crypto::SigningKey key, crypto::SigningKey::from_file(path));
  return std::optional<crypto::SigningKey>(key);
}

Result<std::vector<std::byte>> image_of(const PartitionModel& model, const ProfileId& profile,
                                        std::uint32_t version, const std::optional<crypto::SigningKey>& key,
                                        const std::optional<crypto::Key>& secret) {
  std::vector<std::byte> file = model.plan.program.model;
  if (secret) {
    RUNNEL_ASSIGN(file, encrypt_model(file, *secret));
  }
  embed::ImageHeader header;
  header.length = static_cast<std::uint32_t>(file.size());
  header.version = version;
  header.profile = profile;
  header.memory_bytes = static_cast<std::uint32_t>(model.memory_bytes);
  header.fast_bytes = static_cast<std::uint32_t>(model.plan.program.fast_bytes);
  std::copy_n(model.file.begin(), std::min(model.file.size(), header.name.size() - 1), header.name.begin());
  header.digest = sha256(file);
  if (key) RUNNEL_TRY(sign_header(header, *key));
  const embed::ImageHeaderBytes bytes = embed::write_image_header(header);
  std::vector<std::byte> image(bytes.begin(), bytes.end());
  image.insert(image.end(), file.begin(), file.end());
  return image;
}

Result<std::vector<std::byte>> make_image(const ImageRequest& request, const compiler::LoadOptions& load) {
  RUNNEL_ASSIGN(const Profile profile, read_profile(request.profile));
  RUNNEL_ASSIGN(const std::optional<crypto::SigningKey> key, signing_key(request.key));
  std::optional<crypto::Key> secret;
  if (!request.secret.empty()) {
    RUNNEL_ASSIGN(secret, crypto::Key::from_file(request.secret));
  }
  EmbedRequest plan;
  plan.model = request.model;
  plan.output = "-";  // nothing is written there
  plan.name = profile.name;
  plan.front_end = profile.front_end;
  plan.decision = profile.decision;
  plan.samples = profile.samples;
  if (profile.target != "generic") plan.target = profile.target;
  plan.sample_rate = profile.sample_rate;
  plan.channels = profile.channels;
  plan.hop = static_cast<int>(profile.hop);
  plan.events = profile.events;
  plan.fast = static_cast<std::int64_t>(profile.fast_bytes);
  plan.counters = profile.counters;
  plan.cores = profile.cores;
  plan.say = [](std::string_view) {};
  const std::lock_guard lock(turn());
  RUNNEL_ASSIGN(const PartitionModel model, plan_partition(plan, load));
  if (const Status status = check_fits(model, profile); !status.ok()) return status.at(request.model);
  return image_of(model, profile.id, request.version, key, secret);
}

bool is_image(std::span<const std::byte> file) {
  return file.size() >= embed::kImageMagic.size() &&
         std::memcmp(file.data(), embed::kImageMagic.data(), embed::kImageMagic.size()) == 0;
}

Result<embed::ImageHeader> check_image(std::span<const std::byte> image) {
  if (image.size() < embed::kImageHeaderBytes)
    return Status(Code::invalid_data)
           << "an image of " << image.size() << " bytes, expected more than " << embed::kImageHeaderBytes;
  RUNNEL_ASSIGN(embed::ImageHeader header, embed::read_image_header(image.first<embed::kImageHeaderBytes>()));
  const std::span<const std::byte> model = image.subspan(embed::kImageHeaderBytes);
  if (model.size() != header.length)
    return Status(Code::invalid_data)
           << "a model of " << model.size() << " bytes, the header says " << header.length;
  if (sha256(model) != header.digest)
    return Status(Code::invalid_data, "the model's digest is not that of the header");
  return header;
}

Status sign_image(std::vector<std::byte>& image, const crypto::SigningKey& key) {
  RUNNEL_ASSIGN(embed::ImageHeader header, check_image(image));
  RUNNEL_TRY(sign_header(header, key));
  const embed::ImageHeaderBytes bytes = embed::write_image_header(header);
  std::copy(bytes.begin(), bytes.end(), image.begin());
  return {};
}

Status verify_image(std::span<const std::byte> image, const crypto::PublicKey& key) {
  RUNNEL_ASSIGN(const embed::ImageHeader header, check_image(image));
  if (!header.is_signed) return Status(Code::invalid_data, "the image is not signed");
  return crypto::verify(key, image.first(embed::kSignedBytes), header.signature);
}

}  // namespace runnel::embedding
