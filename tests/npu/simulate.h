// Models run once over a whole clip, with their segments simulated or without any.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "inference/host/engine.h"

namespace runnel::test {

using Bytes = std::vector<std::byte>;

// Null after a failure of the test.
std::shared_ptr<const OwnedModel> open_model(const std::filesystem::path& path);
// Outputs in the order of the model; empty after a failure of the test.
std::vector<Bytes> run_model(const std::shared_ptr<const OwnedModel>& owned, OperatorTable table,
                             const std::vector<Bytes>& inputs);
std::vector<Bytes> simulate(const std::shared_ptr<const OwnedModel>& owned, const std::vector<Bytes>& inputs);

}  // namespace runnel::test
