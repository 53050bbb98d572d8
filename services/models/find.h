// Models by name: a name is a file NAME.rnl or NAME/NAME.rnl in one of the folders of places.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/models/places.h"

namespace runnel::models {

// The model that is taken where none is given.
inline constexpr std::string_view kDefaultModel = "digits";

struct FoundModel {
  std::string name;
  std::string path;  // of its file
  Place place = Place::bundled;
  std::uint64_t bytes = 0;  // size of the file
};

// The file of a model. A path comes first: what exists, or has a slash or the ending of a model file, is
// returned as it is, for the caller to read. Else it is a name. Errors: not_found, with the nearest names,
// and for a path `NAME.rnl` that does not exist while the name does, with the name; invalid_argument for an
// empty name. Thread-safe as long as the environment does not change.
Result<std::string> find_model(std::string_view name_or_path);
Result<std::string> find_model(std::string_view name_or_path, std::span<const ModelFolder> folders);

// All models that have a name, ordered by it; of those with the same name, the one that find_model() takes.
// Folders that cannot be read count as empty.
std::vector<FoundModel> list_models();
std::vector<FoundModel> list_models(std::span<const ModelFolder> folders);

}  // namespace runnel::models
