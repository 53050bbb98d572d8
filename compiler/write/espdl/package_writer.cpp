#include "compiler/write/espdl/package_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/host/crypto.h"
#include "base/limits.h"
#include "compiler/espdl/container.h"
#include "compiler/espdl/little_endian.h"
#include "compiler/espdl/package.h"

namespace runnel::compiler {
namespace {

constexpr std::size_t kMaxModels = limits::kPackageModels, kMaxNameBytes = limits::kPackageNameBytes,
                      kMaxVersion = 15;
// PDL3
constexpr std::size_t kVersionAt = 4, kSizeAt = 20, kDigestAt = 24, kCountAt = 56;

Status check(std::span<const PackedModel> models, const PackOptions& options) {
  if (options.kind != "PDL1" && options.kind != "PDL2" && options.kind != "PDL3") {
    return Status(Code::invalid_argument)
           << "package kind \"" << options.kind << "\", expected PDL1, PDL2 or PDL3";
  }
  const bool third = options.kind == "PDL3";
  if (models.empty() || models.size() > kMaxModels)
    return Status(Code::invalid_argument)
           << models.size() << " models for a package, expected 1 to " << kMaxModels;
  if (third &&
      (options.version.size() > kMaxVersion || options.version.find('\0') != std::string_view::npos)) {
    return Status(Code::invalid_argument) << "package version \"" << options.version
                                          << "\", expected at most " << kMaxVersion << " characters";
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    const PackedModel& model = models[i];
    if (model.name.empty() || model.name.size() > kMaxNameBytes) {
      return Status(Code::invalid_argument) << "name of model " << i << " has " << model.name.size()
                                            << " bytes, expected 1 to " << kMaxNameBytes;
    }
    const auto same = [&](const PackedModel& other) { return &other != &model && other.name == model.name; };
    if (std::any_of(models.begin(), models.end(), same))
      return Status(Code::invalid_argument) << "several models are called \"" << model.name << '"';
    const auto header = EspdlHeader::read(model.file);
    if (!header.ok()) return header.status().at("model \"" + model.name + "\"");
    if (third && header->magic != "EDL2")
      return Status(Code::invalid_data)
             << "model \"" << model.name << "\" is " << header->magic << ", expected EDL2 in a PDL3";
  }
  return {};
}

void put(std::vector<std::byte>& to, std::size_t offset, std::string_view text) {
  std::memcpy(to.data() + offset, text.data(), text.size());
}

}  // namespace

Result<std::vector<std::byte>> write_espdl_package(std::span<const PackedModel> models,
                                                   const PackOptions& options) {
  RUNNEL_TRY(check(models, options));
  const bool aligned = options.kind != "PDL1", third = options.kind == "PDL3";
  const auto rounded = [&](std::size_t size) { return aligned ? (size + 15) / 16 * 16 : size; };
  const std::size_t count_at = third ? kCountAt : 4;
  std::size_t name_at = count_at + 4 + 12 * models.size(), data_at = name_at, total = 0;
  for (const PackedModel& model : models) {
    data_at += model.name.size();
    total += rounded(model.file.size());
  }
  data_at = rounded(data_at);
  if (data_at + total > std::numeric_limits<std::uint32_t>::max())
    return Status(Code::invalid_argument)
           << "a package of " << data_at + total << " bytes, expected less than 4 GiB";
  std::vector<std::byte> package(data_at + total);
  put(package, 0, options.kind);
  write_u32(package, count_at, models.size());
  std::size_t entry = count_at + 4;
  for (const PackedModel& model : models) {
    write_u32(package, entry, data_at);
    write_u32(package, entry + 4, name_at);
    write_u32(package, entry + 8, model.name.size());
    put(package, name_at, model.name);
    std::copy(model.file.begin(), model.file.end(), package.begin() + static_cast<std::ptrdiff_t>(data_at));
    entry += 12;
    name_at += model.name.size();
    data_at += rounded(model.file.size());
  }
  if (third) {
    put(package, kVersionAt, options.version);
    write_u32(package, kSizeAt, package.size());
    const auto digest =
        crypto::sha256({std::span<const std::byte>(package)});  // its own bytes are still zero
    if (!digest.ok()) return digest.status().at("the checksum of a PDL3 package");
    std::copy(digest->begin(), digest->end(), package.begin() + kDigestAt);
  }
  RUNNEL_ASSIGN(const EspdlPackage again, read_espdl_package(package));
  if (again.members.size() != models.size())
    return Status(Code::mismatch, "the package that was written cannot be read again");
  return package;
}

}  // namespace runnel::compiler
