// A small source tree, written for one test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/data.h"

namespace runnel::test {

class PlantedTree : public ::testing::Test {
 protected:
  void plant(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] const std::filesystem::path& root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace runnel::test
