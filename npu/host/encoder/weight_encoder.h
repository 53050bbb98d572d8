// Weight encoder: weights and scales as an Ethos-U55 or U65 reads them; the inverse of npu/host/weights.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npu/host/weights.h"

namespace runnel::npu {

// Encodes weights, -255 to 255, in stream order; the length is a multiple of 16. Takes the
// smallest of the forms tried: palette indices plain or as Golomb-Rice numbers, zeros in runs or
// among the weights. Deterministic.
std::vector<std::byte> encode_weights(std::span<const std::int16_t> weights);

// The stream of one core; `weights` by position, [outs][height][width][depth].
std::vector<std::byte> pack_weights(const WeightOrder& order, std::span<const std::int16_t> weights);

// Appends ten bytes.
void append_scale_record(const ScaleRecord& record, std::vector<std::byte>& to);

}  // namespace runnel::npu
