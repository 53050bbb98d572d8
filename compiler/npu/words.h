// Words: integers of 32, 16 and 8 bits between the operations of one node that is computed in fixed point,
// one operation for each step of a kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "npu/host/encoder/program.h"

namespace runnel::compiler::ethos_u {

// A map and its buffer.
struct Integers {
  npu::FeatureMap map;
  npu::BufferId buffer = npu::kNoBuffer;
};

inline constexpr npu::Rounding kHalfUp = npu::Rounding::natural;

// Little-endian bytes of constants.
std::vector<std::byte> bytes_of(const std::vector<std::int32_t>& values);

// The table of 512 segments of an Ethos-U for a function of int16 that is linear within each of them; none if
// it is not.
std::optional<std::vector<std::byte>> table_of_segments(
    const std::function<std::int16_t(std::int16_t)>& function);

// How one result is computed: limited to `limits`, or to its type; words of 32 bits without a table are not.
struct WordOptions {
  int shift = 0;             // of a product
  std::uint32_t factor = 1;  // of a product of operands of 8 or 16 bits, and of a sum over channels
  npu::Rounding rounding = npu::Rounding::tfl;
  bool reversed = false;  // operands change places
  std::optional<std::pair<std::int32_t, std::int32_t>> limits = std::nullopt;
  std::vector<std::byte> table = {};  // of the result, which it replaces
};

class Words {
 public:
  // The program outlives it.
  explicit Words(npu::Program& program) : program_(program) {}

  // A new map without gaps; `element`: bytes.
  Integers make(std::int32_t height, std::int32_t width, std::int32_t depth, int element = 4);
  // Words of 32 bits that do not change: as many as the map has elements.
  Integers constant(const std::vector<std::int32_t>& values, std::int32_t height = 1, std::int32_t width = 1);
  // One integer of so many bytes.
  Integers constant(std::int32_t value, int element = 4);

  // Into `y`, whose sizes are those of `a`; `b` may be broadcast.
  void apply(npu::ElementwiseMode mode, const Integers& a, const Integers& b, const Integers& y,
             const WordOptions& how = {});
  // Into a new map like `a`.
  Integers of(npu::ElementwiseMode mode, const Integers& a, const Integers& b, const WordOptions& how = {},
              int element = 4);
  // Of all channels of each position, in sequence: [height * width][1][1]. `a` has no gaps between rows.
  Integers largest(const Integers& a);
  // The same in the positions of `a`, as words of 32 bits, times how.factor.
  Integers sum(const Integers& a, const WordOptions& how = {});

 private:
  npu::Program& program_;
};

}  // namespace runnel::compiler::ethos_u
