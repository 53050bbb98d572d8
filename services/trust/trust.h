// Whether a model is signed by a key that is trusted, asked before anything else of its file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/trust/trusted_keys.h"

namespace runnel::trust {

struct SignedBy {
  std::string name;  // under which the model was signed
  std::uint32_t version = 0;
  std::string key;  // its name
};

// Immutable: any number of threads may ask.
class Trust {
 public:
  explicit Trust(TrustedKeys keys) : keys_(std::move(keys)) {}
  // Errors: those of read_trusted_keys().
  static Result<std::shared_ptr<const Trust>> read(const std::string& place);

  // Whether `signature`, as signature_file.h has it, is of `content` and of one of the keys. `stem`: the name
  // of the model where it is used; where the list has a lowest version for it, it must be signed under this
  // name. Errors are one sentence that names the keys that were expected: invalid_data for a model that is
  // unsigned, wrongly signed, changed, or signed with a revoked key; mismatch for one that is too old or
  // another model; unsupported and not_found without libsodium.
  Result<SignedBy> check(std::span<const std::byte> content, std::span<const std::byte> signature,
                         std::string_view stem) const;
  // The same of the bytes of a file, whose signature lies beside it. Errors name the file.
  Result<SignedBy> check_file(const std::filesystem::path& file, std::span<const std::byte> content) const;
  // The same of an image of a model, which starts with its signature; the model follows after
  // embed::kImageHeaderBytes.
  Result<SignedBy> check_image(std::span<const std::byte> image, std::string_view stem) const;

 private:
  [[nodiscard]] std::string expected() const;

  TrustedKeys keys_;
};

// From here on check_file() gets signatures from `read`, in the whole process: for a child in a sandbox,
// which can open no file. Empty bytes: there is none. Called once, before there are threads.
using ReadSignature = std::function<Result<std::vector<std::byte>>(const std::filesystem::path& place)>;
void read_signatures_by(ReadSignature read);

// What a loader asks (compiler/import/load.h): check_file() without its answer.
using Verify = std::function<Status(const std::filesystem::path& file, std::span<const std::byte> content)>;
// Null: empty, everything is taken.
Verify verifier(std::shared_ptr<const Trust> trust);

// The variable RUNNEL_TRUST: a key, a list or a folder for every program that reads models. Null when it is
// not set or empty. Errors: those of read_trusted_keys(), with the variable.
Result<std::shared_ptr<const Trust>> trust_of_environment();

}  // namespace runnel::trust
