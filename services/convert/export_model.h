// Models as .espdl files, which ESP-DL runs, for `runnel export` and for programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/load.h"

namespace runnel::convert {

// The names and meanings are those of the options of `runnel export` (docs/commands.md).
struct ExportRequest {
  std::vector<std::string> inputs;  // several become a package
  std::string output, target, package, version = "1.0.0";
  int chunk = 0;
  std::int64_t warm_up = -1;  // frames of the streaming form that may differ; negative: none
  std::uint32_t seed = 1;
  bool encrypt = false;
  std::function<void(std::string_view)> say;  // sentences for people; may be empty
};

// Writes the file. Errors: those of the importers and writers, naming the file; invalid_argument for
// encryption without a key in `load`.
Status export_model(ExportRequest request, const compiler::LoadOptions& load);

}  // namespace runnel::convert
