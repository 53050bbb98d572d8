// runnel image: makes, signs and verifies images of models for partitions of flash.
#include "services/embed/partition/image.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/call/progress.h"
#include "apps/image/signing_keys.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "inference/host/engine.h"

namespace runnel::apps {
namespace {

Status write_image(const std::string& path, std::span<const std::byte> image) {
  RUNNEL_TRY(write_file(path, image));
  RUNNEL_ASSIGN(const embed::ImageHeader header, embedding::check_image(image));
  say(fmt::format("{}: {} version {}, {} bytes, {}", path, header.name.data(), header.version, image.size(),
                  header.is_signed ? "signed" : "not signed"));
  return {};
}

struct MakeCall {
  embedding::ImageRequest request;
  std::string output;
  ModelFlags flags;
};

Status make(const MakeCall& call) {
  RUNNEL_TRY(check_output_name(call.output, {}));
  const Patience patience("making the image of " + call.request.model);
  RUNNEL_ASSIGN(const compiler::LoadOptions load, load_options(call.flags));
  RUNNEL_ASSIGN(const std::vector<std::byte> image, embedding::make_image(call.request, load));
  return write_image(call.output, image);
}

struct SignCall {
  std::string image, output, key;
};

Status sign(const SignCall& call) {
  RUNNEL_TRY(check_output_name(call.output, {}));
  RUNNEL_ASSIGN(std::vector<std::byte> image, read_whole_file(call.image));
  RUNNEL_ASSIGN(const crypto::SigningKey key, crypto::SigningKey::from_file(call.key));
  if (const Status status = embedding::sign_image(image, key); !status.ok()) return status.at(call.image);
  return write_image(call.output, image);
}

struct VerifyCall {
  std::string image, public_key, profile, trust;
};

Status verify(const VerifyCall& call) {
  RUNNEL_ASSIGN(const std::vector<std::byte> image, read_whole_file(call.image));
  const auto header = embedding::check_image(image);
  if (!header.ok()) return header.status().at(call.image);
  if (!call.public_key.empty()) {
    RUNNEL_ASSIGN(const crypto::PublicKey key, crypto::read_public_key(call.public_key));
    if (const Status status = embedding::verify_image(image, key); !status.ok()) return status.at(call.image);
  }
  RUNNEL_ASSIGN(const std::shared_ptr<const trust::Trust> keys, trusted(call.trust));
  if (keys != nullptr) {
    if (const auto found = keys->check_image(image, header->name.data()); !found.ok())
      return found.status().at(call.image);
  }
  if (!call.profile.empty()) {
    RUNNEL_ASSIGN(const embedding::Profile profile, embedding::read_profile(call.profile));
    if (header->profile != profile.id)
      return Status(Code::mismatch) << call.image << ": made for the profile " << crypto::hex(header->profile)
                                    << ", " << call.profile << " is " << crypto::hex(profile.id);
  }
  const nlohmann::ordered_json line = {
      {"type", "image"},
      {"name", header->name.data()},
      {"version", header->version},
      {"signed", header->is_signed},
      {"signature", call.public_key.empty() && keys == nullptr ? "not checked" : "valid"},
      {"profile", call.profile.empty() ? "not checked" : "fits"}};
  fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return {};
}

}  // namespace

void add_image(Verb verb, int& exit_code) {
  verb.require_verb();
  const auto set = [&exit_code](const Status& status) {
    if (!status.ok()) exit_code = fail(status);
  };

  const auto make_call = std::make_shared<MakeCall>();
  const Verb making =
      verb.verb("make", "Make the image of a model for a profile of runnel embed --model-partition");
  making.positional("MODEL", make_call->request.model, kWholeModel).required();
  making.option("--profile", make_call->request.profile, "The profile, NAME.profile.json").required();
  making.option("-o,--output", make_call->output, "Image to write (.rnli)").required();
  making.option("--model-version", make_call->request.version,
                "Version of the model; devices refuse lower ones than they have");
  making.option("--key", make_call->request.key, "File of the key that signs the image");
  making.option("--encrypt", make_call->request.secret,
                "File of the key to encrypt the model with (16 bytes, or 32 hexadecimal digits)");
  add_model_flags(making, make_call->flags);
  making.callback([make_call, set] { set(make(*make_call)); });

  const auto sign_call = std::make_shared<SignCall>();
  const Verb signing = verb.verb("sign", "Sign an image, or sign it anew");
  signing.positional("IMAGE", sign_call->image, "Image (.rnli)").required();
  signing.option("--key", sign_call->key, "File of the key: 64 hexadecimal digits").required();
  signing.option("-o,--output", sign_call->output, "Image to write").required();
  signing.callback([sign_call, set] { set(sign(*sign_call)); });

  const auto verify_call = std::make_shared<VerifyCall>();
  const Verb verifying = verb.verb("verify", "Check the digest of an image, its signature and its profile");
  verifying.positional("IMAGE", verify_call->image, "Image (.rnli)").required();
  verifying.option("--public-key", verify_call->public_key,
                   "File of the public key that the signature must fit");
  add_trust_flag(verifying, verify_call->trust);
  verifying.option("--profile", verify_call->profile, "Profile that the image must be made for");
  verifying.callback([verify_call, set] { set(verify(*verify_call)); });

  const auto name = std::make_shared<std::string>();
  const Verb keys =
      verb.verb("keys", "Make a pair of keys, NAME.key and NAME.pub; prints the public one as C");
  keys.option("-o,--output", *name, "NAME of the files").required();
  keys.callback([name, set] { set(make_signing_keys(*name)); });
}

}  // namespace runnel::apps
