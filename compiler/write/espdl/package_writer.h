// Packs .espdl models into one file; what package.h reads.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::compiler {

struct PackedModel {
  std::string name;                 // 1 to 4096 bytes, each name once
  std::span<const std::byte> file;  // a whole .espdl file (EDL1 or EDL2), plain or encrypted
};

struct PackOptions {
  std::string_view kind =
      "PDL3";  // PDL1, PDL2 (members at multiples of 16) or PDL3 (with version, size and SHA-256; EDL2 only)
  std::string_view version = "1.0.0";  // of the package, at most 15 characters; PDL3
};

// The package, read again before it is given back. Errors: invalid_argument for no or too many models, names
// that are empty, too long or used twice, another kind, a version that is too long; invalid_data naming a
// member that is no .espdl file of the kind's; unsupported for a PDL3 in a build without mbedTLS.
Result<std::vector<std::byte>> write_espdl_package(std::span<const PackedModel> models,
                                                   const PackOptions& options = {});

}  // namespace runnel::compiler
