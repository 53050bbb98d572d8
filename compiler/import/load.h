// Any model file that runnel understands, ready to prepare: .rnl as it is, others imported in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/key.h"
#include "base/status.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/import/onnx/importer.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/stream_options.h"
#include "inference/host/engine.h"
#include "inference/model/loader.h"

namespace runnel::compiler {

struct LoadOptions {
  // The file of a model that is given by name or path; errors say what was expected. Empty: every name is a
  // path.
  std::function<Result<std::string>(std::string_view name_or_path)> find;

  // Asked about every file that is read, with its bytes, before anything else is made of them: whether it is
  // signed by somebody who is trusted. Empty: all are taken.
  std::function<Status(const std::filesystem::path& file, std::span<const std::byte> content)> verify;

  // Target of the quantizer, for formats that do not record it: generic, esp32 or c, esp32s3, esp32p4; empty:
  // detected.
  std::string target;
  // Which model of an .espdl package: name or index; empty: the only one. An error for files that are no
  // packages.
  std::string member;
  // For encrypted files (.rnl and .espdl); not used for others.
  std::optional<crypto::Key> key;

  // Sizes and values of inputs that .onnx files leave open; sizes also of .tflite files.
  OnnxOptions onnx;

  // How models of other tools are to be streamed; for .rnl files, which have a plan, an error when
  // given.
  StreamOptions stream;

  // Operators of the application: their run-time definitions beside all others, and the types to import
  // (.espdl).
  OperatorTable operators = all_operators();
  std::vector<CustomOperator> custom_operators;

  [[nodiscard]] const crypto::Key* key_or_null() const { return key ? &*key : nullptr; }
};

// The bytes of a file, which `verify` took. Errors: those of reading and of `verify`, with the file.
Result<std::vector<std::byte>> read_verified(const std::filesystem::path& path, const LoadOptions& options);

// Whether these are the bytes of a .rnl file, plain or encrypted.
bool is_model_file(const std::vector<std::byte>& bytes);

struct LoadedModel {
  std::shared_ptr<const OwnedModel> model;
  // Notes for people, one sentence each: how the target was found, why the model cannot be
  // streamed.
  std::vector<std::string> notes;
};

// A foreign file as a graph. Errors name the file; also those of `find`.
struct ImportedGraph {
  Graph graph;
  std::vector<std::string> notes;
};
Result<ImportedGraph> import_file(const std::filesystem::path& path, const LoadOptions& options);

// Recognised by content, not by name. Errors name the file; also those of `find`.
Result<LoadedModel> load_model(const std::filesystem::path& path, const LoadOptions& options = {});

// Gives nodes their models by path, or by name when the options can find them; keeps them. Thread-safe.
class FileLoader final : public ModelLoader {
 public:
  explicit FileLoader(LoadOptions options = {}) : options_(std::move(options)) {}
  Result<const Model*> load(std::string_view path) noexcept override;
  // Notes of what was loaded since the last call.
  std::vector<std::string> take_notes();

 private:
  Result<const Model*> load_once(std::string_view path);

  LoadOptions options_;
  std::mutex mutex_;
  std::map<std::string, LoadedModel, std::less<>> models_;
  std::vector<std::string> notes_;
};

}  // namespace runnel::compiler
