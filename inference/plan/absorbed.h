// Which sums and clips are computed by the operator before them.
#pragma once

#include <cstdint>
#include <span>

#include "inference/prepared.h"

namespace runnel {

// Sets, for every operator, the index of the preceding operator that computes it along, or -1. The result of
// that one has no other reader and is not stored. `prepared` has its tensors' frames, delays and
// rings. Decides nothing about whether it is worth while. `readers`: working memory, one entry per tensor.
void find_absorbed(const Prepared& prepared, OperatorTable table, std::span<std::int64_t> readers,
                   std::span<std::int32_t> absorbed_by) noexcept;

// How operator `next` is computed along by the one before it, absorbed_by[next]; without back_bytes.
Absorbed absorbed_as(const Model& model, int next) noexcept;

}  // namespace runnel
