// Names of files to be written: an ending that promises another format than is written is refused.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

#include "base/status.h"

namespace runnel {

// `written`: the endings of what is written, with their dots; empty: a folder. Names without an ending, with
// one that no format here has, folders that are there, and devices pass. Error: invalid_argument for the
// ending of another format that is read or written here, naming those expected. Letters of either size count
// alike.
Status check_output_name(const std::filesystem::path& path, std::initializer_list<std::string_view> written);

}  // namespace runnel
