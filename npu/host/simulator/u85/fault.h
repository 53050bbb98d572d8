// Faults: rules of the Ethos-U85 that tests break on purpose, one at a time, to see that recorded networks
// notice it. Programs leave them alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "npu/operation.h"

namespace runnel::npu::u85 {

enum class Fault : std::uint8_t {
  none,
  rounds_once,           // DOUBLE_SYMMETRIC as NATURAL
  full_first_rounding,   // the double-round amount is not seen
  ties_away,             // NATURAL with ties away from zero
  blocks_in_sequence,    // blocks of inputs do not alternate their direction
  rows_in_sequence,      // odd rows of taps do not run backwards
  sub_kernels_by_rows,   // those beside each other before those below
  fast_by_decoder,       // a fast stream holds one decoder after the other
  sparse_as_dense,       // the order of sparse weights is that of others
  words_are_multiplied,  // 32-bit products with the multiplier
  averages_round_up,     // ties of averages
  true_is_one,           // of comparisons
  tables_are_cut,        // 16-bit tables without the half
  narrow_functions,      // tanh and sigmoid of 16 bits
  states_start_at_zero,  // instead of their zero point
};
inline constexpr int kFaults = 15;  // none included
std::string_view name_of(Fault fault) noexcept;

// What a fault changes in the registers.
void plant(Fault fault, Operation& op) noexcept;

}  // namespace runnel::npu::u85
