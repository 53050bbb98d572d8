// Weight encoder of the Ethos-U85: weights and scales as it reads them; the inverse of
// npu/host/u85/weights.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npu/host/u85/weights.h"

namespace runnel::npu::u85 {

// Whether of each four input channels at most two have weights: rows of `depth` channels, -127 to 127.
bool fits_sparse(std::span<const std::int16_t> weights, std::int32_t depth);

struct PackedWeights {
  bool fast = false;                            // one stream for all decoders
  std::vector<std::vector<std::byte>> streams;  // of each decoder, or the fast one

  [[nodiscard]] std::size_t bytes() const;
};

// The streams of an operation; `weights` by position, [outs][height][width][depth], -255 to 255. One stream
// for each decoder, or a fast one where that takes no more bytes: it is decoded faster. Deterministic.
PackedWeights pack_weights(const WeightOrder& order, std::span<const std::int16_t> weights);
// Either form: one stream for each decoder, or a fast one for all; without streams where there is no fast
// one.
PackedWeights pack_plain_weights(const WeightOrder& order, std::span<const std::int16_t> weights);
PackedWeights pack_fast_weights(const WeightOrder& order, std::span<const std::int16_t> weights);

// A fast stream: two or four bits for each weight, or eight; empty where neither is possible. A sparse one
// has eight.
std::vector<std::byte> encode_fast_weights(std::span<const std::int16_t> weights, bool sparse);

// Appends ten bytes; `wide`: for accumulators of 48 bits.
void append_scale_record(const ScaleRecord& record, bool wide, std::vector<std::byte>& to);
// Bytes of a convolution's scales: the hardware reads those of a whole micro-block together.
std::int64_t scale_bytes(const Operation& op, const Accelerator& accelerator) noexcept;
// Weights of all streams of a convolution, those that fill micro-blocks and groups of taps up included.
std::int64_t streamed_weights(const Operation& op, const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu::u85
