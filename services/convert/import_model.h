// Models of other tools as .rnl files, for `runnel import` and for programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/load.h"
#include "compiler/import/usage.h"

namespace runnel::convert {

// The names and meanings are those of the options of `runnel import` (docs/commands.md).
struct ImportRequest {
  std::string input, output, name, front_end, decision, labels, tokens;
  std::vector<std::string> label_names;  // instead of the file `labels`
  int sample_rate = 0;
  compiler::UsageOptions usage;
  std::vector<std::string> states;
  std::vector<int> blocks;
  bool strip_names = false, encrypt = false, pow2 = false;
  std::function<void(std::string_view)> say;  // sentences for people; may be empty
};

// Writes the file. Errors: those of the importers and writers, naming the file; invalid_argument for
// encryption without a key in `options`, and for texts of graphs with errors.
Status import_model(ImportRequest request, const compiler::LoadOptions& options);

}  // namespace runnel::convert
