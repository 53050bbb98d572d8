// Files below 1 MiB that ask for too much.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/apps/support.h"

namespace runnel::apps::test {

// An .onnx file of a sum with constants of 2^27 elements each, a hundred bytes of the file.
std::string large_constants(int count);
// One of products with large matrices: much to do in each frame.
std::string large_products(int count);

class HostileFiles : public testing::Test {
 protected:
  // In the folder of the test.
  [[nodiscard]] std::string file(const std::string& name) const;
  // Writes a file of less than 1 MiB and gives its path.
  [[nodiscard]] std::string written(const std::string& name, const std::string& content) const;
  // Writes one of each kind.
  [[nodiscard]] std::vector<std::string> all() const;

  runnel::test::TemporaryFolder folder_;
};

}  // namespace runnel::apps::test
