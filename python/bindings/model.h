// A model as Python sees it: its file, what was said while reading it, and its preparations.
#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "compiler/import/load.h"
#include "inference/host/engine.h"
#include "inference/model/loader.h"
#include "services/sessions/frame_session.h"

namespace runnel::python {

// Models by name or path, with all operators.
compiler::LoadOptions default_load_options();
// Keyword arguments target, member, key, shapes, values, stream, time_axis, max_lookahead, pool_window,
// attention_window, contexts (docs/python.md). Errors: TypeError for other names, InvalidArgument.
compiler::LoadOptions load_options_of(const pybind11::dict& given);

// Immutable but for the cache of preparations; any number of threads.
class LoadedModel {
 public:
  // Errors: those of load_model, naming the file.
  static std::shared_ptr<LoadedModel> load(const std::string& path, const compiler::LoadOptions& options);

  // Of its file, and as it was given: the path, or a name.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& given() const { return given_; }
  [[nodiscard]] const std::shared_ptr<const OwnedModel>& owned() const { return owned_; }
  [[nodiscard]] const Model& model() const { return owned_->model(); }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const compiler::LoadOptions& options() const { return options_; }

  // Sessions with the same options share one preparation, which lasts as long as one of them.
  std::shared_ptr<const sessions::FrameModel> prepared(const sessions::FrameOptions& options);

 private:
  using Key = std::tuple<std::string, bool, bool, std::int64_t>;

  std::string path_, given_;
  compiler::LoadOptions options_;
  std::shared_ptr<const OwnedModel> owned_;
  std::vector<std::string> notes_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const sessions::FrameModel>> prepared_;
};

// Gives graphs the models that Python has loaded, by their path, and reads others from files. Thread-safe.
class GraphModels final : public ModelLoader {
 public:
  explicit GraphModels(compiler::LoadOptions options) : files_(std::move(options)) {}
  void add(std::shared_ptr<LoadedModel> model);
  Result<const Model*> load(std::string_view path) noexcept override;
  std::vector<std::string> take_notes() { return files_.take_notes(); }

 private:
  std::map<std::string, std::shared_ptr<LoadedModel>, std::less<>> given_;
  compiler::FileLoader files_;
};

}  // namespace runnel::python
