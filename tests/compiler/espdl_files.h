// The .espdl files of the test data.
#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

#include "tests/support/data.h"

namespace runnel::test {

// All of them below `folder` (relative to the test data), sorted by path.
inline std::vector<std::filesystem::path> espdl_files(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_folder() / folder)) {
    if (entry.path().extension() == ".espdl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace runnel::test
