#include "services/models/find.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/suggest.h"

namespace runnel::models {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".rnl";

bool looks_like_path(std::string_view text) {
  constexpr std::array<std::string_view, 9> kEndings = {".rnl", ".onnx",  ".tflite", ".pte", ".bpte",
                                                        ".ptd", ".espdl", ".json",   ".pb"};
  return text.find('/') != std::string_view::npos ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return text.ends_with(ending); });
}

// "digits" for "some/digits.rnl".
std::string stem_of(std::string_view path) { return fs::path(path).stem().string(); }

}  // namespace

std::vector<FoundModel> list_models(std::span<const ModelFolder> folders) {
  std::map<std::string, FoundModel> models;
  for (const ModelFolder& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator entry(folder.folder, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code none;
      const fs::path& path = entry->path();
      const bool inside = fs::is_directory(path, none);
      const fs::path file = inside ? path / (path.filename().string() + std::string(kEnding)) : path;
      if (file.extension() != kEnding || !fs::is_regular_file(file, none)) continue;
      const std::uintmax_t bytes = fs::file_size(file, none);
      if (none) continue;
      const std::string name = stem_of(file.string());
      models.try_emplace(name, FoundModel{name, file.string(), folder.place, bytes});
    }
  }
  std::vector<FoundModel> list;
  for (auto& [name, model] : models) list.push_back(std::move(model));
  return list;
}

std::vector<FoundModel> list_models() { return list_models(model_folders()); }

Result<std::string> find_model(std::string_view text, std::span<const ModelFolder> folders) {
  if (text.empty())
    return Status(Code::invalid_argument)
           << "an empty name of a model, expected a file or a name that `runnel models` lists";
  std::error_code error;
  const fs::path path(text);
  if (fs::exists(path, error) && !fs::is_directory(path, error)) return std::string(text);
  const std::vector<FoundModel> models = list_models(folders);
  const auto named = [&](std::string_view name) {
    return std::ranges::find(models, name, &FoundModel::name);
  };
  if (looks_like_path(text)) {
    if (const auto model = named(stem_of(text)); text.ends_with(kEnding) && model != models.end()) {
      return Status(Code::not_found) << text << ": no such file; the model " << model->name
                                     << " is known by its name alone, found in " << model->path;
    }
    return std::string(text);
  }
  if (const auto model = named(text); model != models.end()) return model->path;
  Status status(Code::not_found);
  status << "'" << text << "' is neither a file nor the name of a model";
  if (models.empty()) return status << ": no models are installed";
  Suggestion nearest(text);
  for (const FoundModel& model : models) nearest.consider(model.name);
  if (!nearest.best().empty()) return status << ", did you mean '" << nearest.best() << "'?";
  status << "; the names are ";
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < models.size() && i < kMost; ++i)
    status << (i > 0 ? ", " : "") << models[i].name;
  if (models.size() > kMost) status << ", ...";
  return status;
}

Result<std::string> find_model(std::string_view text) { return find_model(text, model_folders()); }

}  // namespace runnel::models
