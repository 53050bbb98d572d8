// The files that a decision stored in a model names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace runnel::listen {

// `decision` with every relative path of a decoder's `tokens=`, `lexicon=`, `grammar=` and `hotwords=` that
// names a file in the folder of `model` replaced by the path of that file, so that a model and its files work
// from any folder. Other paths, and text that is not a graph, are left as they are.
std::string files_beside(std::string_view decision, const std::filesystem::path& model);

}  // namespace runnel::listen
