// The folders in which models are found by name.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace runnel::models {

// Whose folder it is.
enum class Place {
  path,     // of the environment variable RUNNEL_MODEL_PATH
  bundled,  // of the build tree or the installation
  user,     // of the user's data folder
};
// "RUNNEL_MODEL_PATH", "bundled", "user".
std::string_view name_of(Place place) noexcept;

struct ModelFolder {
  Place place = Place::bundled;
  std::filesystem::path folder;
};

// The folders in the order of search, whether they exist or not: those of RUNNEL_MODEL_PATH (separated by
// colons); `models` of the build tree to which the program (or the shared object of this code) belongs,
// `share/runnel/models` beside its folder, and that of the prefix which runnel was configured for; the
// user's. So a call can replace what is bundled, and what the user has fetched cannot. Reads the environment:
// not safe while another thread changes it.
std::vector<ModelFolder> model_folders();

// Where fetched models are kept: $XDG_DATA_HOME/runnel/models, else ~/.local/share/runnel/models; empty when
// neither variable is an absolute path. It need not exist.
std::filesystem::path user_model_folder();

}  // namespace runnel::models
