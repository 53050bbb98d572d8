// Networks that Arm's compiler has compiled, and their operations.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "compiler/import/load.h"
#include "npu/host/segment.h"
#include "npu/operation.h"

namespace runnel::test {

struct Compiled {
  std::shared_ptr<const OwnedModel> model;
  std::vector<npu::Segment> segments;  // that point into it
};
// Fails the test, and returns what there is, when the file or a segment cannot be read.
Compiled open_compiled(const std::filesystem::path& path);
std::vector<npu::Operation> decoded(const npu::Segment& segment);

}  // namespace runnel::test
