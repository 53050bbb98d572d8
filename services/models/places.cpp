#include "services/models/places.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <system_error>

namespace runnel::models {
namespace {

namespace fs = std::filesystem;

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// The folders of the program and of the shared object that holds this code: they differ where the program is
// another's, such as an interpreter.
std::vector<fs::path> own_folders() {
  std::error_code none;
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& file) {
    const fs::path folder = fs::weakly_canonical(file, none).parent_path();
    if (!folder.empty() && std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  };
  add(fs::read_symlink("/proc/self/exe", none));
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folders), &info) != 0 && info.dli_fname != nullptr)
    add(info.dli_fname);
  return folders;
}

// The build tree that `folder` belongs to, known by CMake's cache; empty: none. Tests lie four folders deep.
fs::path build_tree_of(fs::path folder) {
  std::error_code none;
  for (int up = 0; up <= 4 && folder.has_relative_path(); ++up, folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / "CMakeCache.txt", none)) return folder;
  }
  return {};
}

}  // namespace

std::string_view name_of(Place place) noexcept {
  constexpr std::string_view kNames[] = {"RUNNEL_MODEL_PATH", "bundled", "user"};
  return kNames[static_cast<std::size_t>(place)];
}

fs::path user_model_folder() {
  // A relative path is invalid by the specification of these folders, and ignored.
  if (const fs::path data = environment("XDG_DATA_HOME"); data.is_absolute())
    return data / "runnel" / "models";
  if (const fs::path home = environment("HOME"); home.is_absolute())
    return home / ".local" / "share" / "runnel" / "models";
  return {};
}

std::vector<ModelFolder> model_folders() {
  std::vector<ModelFolder> folders;
  const auto add = [&](Place place, const fs::path& folder) {
    if (!folder.empty() && std::ranges::find(folders, folder, &ModelFolder::folder) == folders.end())
      folders.push_back({place, folder});
  };
  std::string_view path = environment("RUNNEL_MODEL_PATH");
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    add(Place::path, path.substr(0, colon));
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  for (const fs::path& own : own_folders()) {
    if (const fs::path tree = build_tree_of(own); !tree.empty()) add(Place::bundled, tree / "models");
    add(Place::bundled, (own / RUNNEL_MODELS_FROM_PROGRAM).lexically_normal());
    add(Place::bundled, own / "models");  // a package of another language has its models with it
  }
  add(Place::bundled, RUNNEL_INSTALLED_MODELS);
  add(Place::user, user_model_folder());
  return folders;
}

}  // namespace runnel::models
