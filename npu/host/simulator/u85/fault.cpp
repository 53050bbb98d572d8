#include "npu/host/simulator/u85/fault.h"

namespace runnel::npu::u85 {

std::string_view name_of(Fault fault) noexcept {
  constexpr std::string_view kNames[kFaults] = {"none",
                                                "rounds_once",
                                                "full_first_rounding",
                                                "ties_away",
                                                "blocks_in_sequence",
                                                "rows_in_sequence",
                                                "sub_kernels_by_rows",
                                                "fast_by_decoder",
                                                "sparse_as_dense",
                                                "words_are_multiplied",
                                                "averages_round_up",
                                                "true_is_one",
                                                "tables_are_cut",
                                                "narrow_functions",
                                                "states_start_at_zero"};
  return kNames[static_cast<int>(fault)];
}

void plant(Fault fault, Operation& op) noexcept {
  for (Scale* const scale : {&op.u85.ofm_scale, &op.u85.ifm_scale, &op.u85.ifm2_scale}) {
    if (fault == Fault::rounds_once && scale->rounding == Rounding::double_symmetric)
      scale->rounding = Rounding::natural;
    if (fault == Fault::ties_away && scale->rounding == Rounding::natural)
      scale->rounding = Rounding::symmetric;
    if (fault == Fault::full_first_rounding) scale->double_round = 0;
  }
}

}  // namespace runnel::npu::u85
