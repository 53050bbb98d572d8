// runnel sign: signs a model for those who say --trust, and images of models for devices.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/image/signing_keys.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "inference/host/engine.h"
#include "services/embed/partition/image.h"
#include "services/models/find.h"
#include "services/trust/signature_file.h"

namespace runnel::apps {
namespace {

struct SignModelCall {
  std::string model, output, key, new_key, name;
  std::uint32_t version = 1;
};

void print_signature(const std::string& model, const std::string& file, const embed::ImageHeader& header,
                     const crypto::PublicKey& key) {
  const nlohmann::ordered_json line = {{"type", "signature"},
                                       {"model", model},
                                       {"file", file},
                                       {"name", header.name.data()},
                                       {"version", header.version},
                                       {"sha256", crypto::hex(header.digest)},
                                       {"public_key", crypto::hex(key)}};
  fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// The version and name of an image are part of what a device was promised; only its signature changes.
Status sign_image_file(const SignModelCall& call, const std::string& path, std::vector<std::byte> image,
                       const crypto::SigningKey& key, const crypto::PublicKey& known) {
  if (call.version != 1 || !call.name.empty())
    return Status(Code::invalid_argument)
           << path << ": an image has its name and version already (runnel image make)";
  if (const Status status = embedding::sign_image(image, key); !status.ok()) return status.at(path);
  const std::string output = call.output.empty() ? path : call.output;
  RUNNEL_TRY(write_file(output, image));
  RUNNEL_ASSIGN(const embed::ImageHeader header, embedding::check_image(image));
  print_signature(path, output, header, known);
  return {};
}

Status sign_model(const SignModelCall& call) {
  if (!call.new_key.empty()) {
    if (!call.model.empty() || !call.key.empty())
      return Status(Code::invalid_argument, "--new-key NAME makes keys, expected neither MODEL nor --key");
    return make_signing_keys(call.new_key);
  }
  if (call.model.empty() || call.key.empty())
    return Status(Code::invalid_argument, "expected MODEL and --key FILE, or --new-key NAME");
  RUNNEL_ASSIGN(const std::string path, models::find_model(call.model));
  RUNNEL_ASSIGN(const crypto::SigningKey key, crypto::SigningKey::from_file(call.key));
  RUNNEL_ASSIGN(const crypto::PublicKey known, crypto::public_key(key));
  RUNNEL_ASSIGN(std::vector<std::byte> bytes, read_whole_file(path));
  if (embedding::is_image(bytes)) return sign_image_file(call, path, std::move(bytes), key, known);
  const std::string output = call.output.empty() ? trust::signature_place(path).string() : call.output;
  if (output == path)
    return Status(Code::invalid_argument)
           << output << ": the model itself, expected a file for its signature";
  const std::string name = call.name.empty() ? std::string(trust::signed_name(path)) : call.name;
  const auto signature = trust::sign_content(bytes, name, call.version, key);
  if (!signature.ok()) return signature.status().at(path);
  RUNNEL_TRY(write_file(output, *signature));
  RUNNEL_ASSIGN(const embed::ImageHeader header, embed::read_image_header(*signature));
  print_signature(path, output, header, known);
  return {};
}

}  // namespace

void add_sign(Verb verb, int& exit_code) {
  const auto call = std::make_shared<SignModelCall>();
  verb.positional("MODEL", call->model, "Name or file of a model, in any format; or an image of one (.rnli)");
  verb.option("--key", call->key, "File of the key that signs: 64 hexadecimal digits (NAME.key)");
  verb.option("-o,--output", call->output,
              "Signature to write (default: MODEL.sig, where --trust looks for it); of an image: the image");
  verb.option("--model-version", call->version,
              "Version of the model, for those who refuse models that are too old");
  verb.option("--name", call->name, "Name to sign under (default: that of the file, without its ending)");
  verb.option("--new-key", call->new_key, "Make a pair of keys instead, NAME.key and NAME.pub");
  verb.callback([call, &exit_code] {
    if (const Status status = sign_model(*call); !status.ok())
      exit_code = status.code() == Code::invalid_argument ? refuse(status) : fail(status);
  });
}

}  // namespace runnel::apps
