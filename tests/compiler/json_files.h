// JSON files of the test data.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/data.h"

namespace runnel::test {

inline nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(std::ifstream(path));
}

// The list of the recorded .espdl files and what holds of them.
inline nlohmann::json conformance_manifest() {
  return read_json(data_folder() / "conformance/MANIFEST.json");
}

}  // namespace runnel::test
