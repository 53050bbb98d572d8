// Models of other tools as .rnl files, for `runnel import` and for programs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
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
  // What read_names() has read.
  std::optional<std::vector<std::string>> names_of_labels, names_of_tokens;
};

// Reads the files `labels` and `tokens`, so that make_model() opens no file but the model's. Errors name the
// file.
Status read_names(ImportRequest& request);

struct ImportedModel {
  std::vector<std::byte> bytes;  // of the .rnl file, encrypted if asked for
  std::size_t operators = 0;
};

// The model as bytes; the output's name is not used. Errors: those of import_model() without those of
// writing.
Result<ImportedModel> make_model(ImportRequest request, const compiler::LoadOptions& options);

// Writes a made model to the output and says so.
Status write_model(const ImportRequest& request, const ImportedModel& model);

// Makes and writes the file. Errors: those of the importers and writers, naming the file; invalid_argument
// for encryption without a key in `options`, and for texts of graphs with errors.
Status import_model(ImportRequest request, const compiler::LoadOptions& options);

}  // namespace runnel::convert
