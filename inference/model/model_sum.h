// A number that identifies what a model computes: for reports of devices, which say whose they are.
#pragma once

#include <cstdint>

#include "inference/model/model.h"

namespace runnel {

// CRC-32C of operators and constants; names, metadata and test vectors do not count. Thread-safe.
[[nodiscard]] std::uint32_t model_sum(const Model& model) noexcept;

}  // namespace runnel
