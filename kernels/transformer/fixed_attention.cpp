#include "kernels/transformer/fixed_attention.h"

#include <algorithm>

#include "kernels/affine_softmax.h"
#include "kernels/transformer/fixed_attention_levels.h"

namespace runnel::kernels {
namespace {

template <class T, class Sum>
void products(std::int32_t size, const std::int16_t* q, const T* rows, std::int64_t stride,
              std::int64_t count, std::int64_t* sums) noexcept {
  for (std::int64_t i = 0; i < count; ++i, rows += stride) {
    Sum sum = 0;
    for (std::int32_t c = 0; c < size; ++c) sum += std::int32_t{q[c]} * std::int32_t{rows[c]};
    sums[i] = sum;
  }
}

template <class T>
void mix(std::int64_t count, const std::int16_t* weights, const T* rows, std::int64_t stride,
         std::int32_t size, std::int64_t* sums) noexcept {
  std::fill_n(sums, size, std::int64_t{0});
  for (std::int64_t i = 0; i < count; ++i, rows += stride) {
    const std::int32_t weight = weights[i];
    for (std::int32_t c = 0; c < size; ++c) sums[c] += weight * std::int32_t{rows[c]};
  }
}

// Where a query's scratch memory has what.
struct Places {
  std::size_t scores, weights, query, mixed, bytes;  // products come first
  Places(const FixedAttentionSpec& spec, std::int64_t count) noexcept {
    const auto aligned = [](std::size_t at) { return (at + 15) / 16 * 16; };
    const auto keys = static_cast<std::size_t>(count);
    scores = aligned(keys * sizeof(std::int64_t));
    weights = aligned(scores + keys * sizeof(std::int32_t));
    query = aligned(weights + keys * sizeof(std::int16_t));
    mixed = aligned(query + static_cast<std::size_t>(spec.key_size + spec.distance_size) * 2);
    bytes = aligned(mixed + static_cast<std::size_t>(spec.value_size) * sizeof(std::int64_t));
  }
};

void multiply(const FixedAttentionSums& with, std::int32_t size, const std::int16_t* q,
              const std::int8_t* rows, std::int64_t stride, std::int64_t count, std::int64_t* out) noexcept {
  with.products8(size, q, rows, stride, count, out);
}
void multiply(const FixedAttentionSums& with, std::int32_t size, const std::int16_t* q,
              const std::int16_t* rows, std::int64_t stride, std::int64_t count, std::int64_t* out) noexcept {
  with.products16(size, q, rows, stride, count, out);
}
void mix_rows(const FixedAttentionSums& with, std::int64_t count, const std::int16_t* weights,
              const std::int8_t* rows, std::int64_t stride, std::int32_t size, std::int64_t* out) noexcept {
  with.mix8(count, weights, rows, stride, size, out);
}
void mix_rows(const FixedAttentionSums& with, std::int64_t count, const std::int16_t* weights,
              const std::int16_t* rows, std::int64_t stride, std::int32_t size, std::int64_t* out) noexcept {
  with.mix16(count, weights, rows, stride, size, out);
}

std::int64_t limited(std::int64_t score) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return score > most ? most : score < -most ? -most : score;
}

constexpr FixedAttentionSums kPlain{products<std::int8_t, std::int32_t>, products<std::int16_t, std::int64_t>,
                                    mix<std::int8_t>, mix<std::int16_t>};

}  // namespace

constinit const FixedAttentionSums kAttentionSums8{products<std::int8_t, std::int32_t>, nullptr,
                                                   mix<std::int8_t>, nullptr};
constinit const FixedAttentionSums kAttentionSums16{nullptr, products<std::int16_t, std::int64_t>, nullptr,
                                                    mix<std::int16_t>};

const FixedAttentionSums& fixed_attention_sums([[maybe_unused]] Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx2) return fixed_attention_sums_avx2();
#elif defined(RUNNEL_KERNELS_NEON)
  if (isa >= Isa::neon) return fixed_attention_sums_neon();
#elif defined(RUNNEL_KERNELS_RVV)
  if (isa == Isa::rvv) return fixed_attention_sums_rvv();
#endif
  return kPlain;
}

std::size_t FixedAttentionSpec::scratch_bytes(std::int64_t count) const noexcept {
  return Places(*this, count).bytes;
}

template <class T>
void attend_as(const FixedAttentionSpec& spec, std::int64_t count, const T* query, const T* keys,
               const T* values, const std::int32_t* bias, const T* distances, T* y,
               std::byte* scratch) noexcept {
  const Places at(spec, count);
  auto* const sums = reinterpret_cast<std::int64_t*>(scratch);
  auto* const scores = reinterpret_cast<std::int32_t*>(scratch + at.scores);
  auto* const weights = reinterpret_cast<std::int16_t*>(scratch + at.weights);
  auto* const q = reinterpret_cast<std::int16_t*>(scratch + at.query);
  auto* const mixed = reinterpret_cast<std::int64_t*>(scratch + at.mixed);
  const std::int32_t channels = spec.key_size + spec.distance_size;
  for (std::int32_t c = 0; c < channels; ++c) q[c] = static_cast<std::int16_t>(query[c] - spec.query_zero);
  multiply(*spec.sums, spec.key_size, q, keys, spec.key_stride, count, sums);
  for (std::int64_t i = 0; i < count; ++i)
    scores[i] = static_cast<std::int32_t>(limited(spec.score(sums[i])));
  if (distances != nullptr) {
    multiply(*spec.sums, spec.distance_size, q + spec.key_size, distances, spec.distance_stride, count, sums);
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<std::int32_t>(limited(scores[i] + limited(spec.distance(sums[i]))));
  }
  if (bias != nullptr) {
    for (std::int64_t i = 0; i < count; ++i)
      scores[i] = static_cast<std::int32_t>(limited(std::int64_t{scores[i]} + bias[i]));
  }
  const std::int32_t largest = *std::max_element(scores, scores + count);
  std::int64_t total = 0;  // Q15, more than 2^14
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t below = std::int64_t{scores[i]} - largest;
    weights[i] = below < -kScoreSpan ? std::int16_t{0}
                                     : exp_from_table(static_cast<std::int16_t>(below + kScoreSpan - 32768));
    total += weights[i];
  }
  mix_rows(*spec.sums, count, weights, values, spec.value_stride, spec.value_size, mixed);
  // total = (1 + f) 2^(31 - headroom); the reciprocal is that of 1 + f, in Q15.
  const int headroom = __builtin_clz(static_cast<std::uint32_t>(total));
  const std::int64_t one_and_f = ((total << (headroom - 1)) + (1 << 13)) >> 14;  // in [65536, 131072]
  const std::int64_t reciprocal =
      one_over_one_plus_from_table(saturate<std::int16_t>(one_and_f - 65536 - 32768));
  const int shift = 15 + 31 - headroom - kMixBits;
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  for (std::int32_t c = 0; c < spec.value_size; ++c) {
    const std::int64_t mean = ((mixed[c] - spec.value_zero * total) * reciprocal + half) >> shift;
    y[c] = saturate<T>(spec.result(mean) + spec.y_zero);
  }
}
template void attend_as<std::int8_t>(const FixedAttentionSpec&, std::int64_t, const std::int8_t*,
                                     const std::int8_t*, const std::int8_t*, const std::int32_t*,
                                     const std::int8_t*, std::int8_t*, std::byte*) noexcept;
template void attend_as<std::int16_t>(const FixedAttentionSpec&, std::int64_t, const std::int16_t*,
                                      const std::int16_t*, const std::int16_t*, const std::int32_t*,
                                      const std::int16_t*, std::int16_t*, std::byte*) noexcept;

void attend(const FixedAttentionSpec& spec, std::int64_t count, const void* query, const void* keys,
            const void* values, const std::int32_t* bias, const void* distances, void* y,
            std::byte* scratch) noexcept {
  const auto as = [&]<class T>(T*) {
    attend_as(spec, count, static_cast<const T*>(query), static_cast<const T*>(keys),
              static_cast<const T*>(values), bias, static_cast<const T*>(distances), static_cast<T*>(y),
              scratch);
  };
  if (spec.dtype == DType::int16)
    as(static_cast<std::int16_t*>(nullptr));
  else
    as(static_cast<std::int8_t*>(nullptr));
}

}  // namespace runnel::kernels
