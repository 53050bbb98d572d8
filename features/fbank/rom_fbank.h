// Front end with a compile-time recipe and tables in ROM: the bits of Fbank, and only the code that
// the recipe needs.
#pragma once

#include "features/fbank/fbank_steps.h"
#include "features/fft/constant_fft.h"

namespace runnel::features {

// Recipe::kTables: constant FbankTables, one filter at a time, for options that Fbank::make()
// accepts; see has_rom_form().
constexpr bool has_rom_form(const FbankOptions& options) noexcept {
  return options.fft == FftChoice::own && options.log_max != LogMax::global &&
         is_constant_fft(unchecked_shape_of(options).fft_size);
}

template <class Recipe>
struct ConstantGrid {
  static constexpr FrameGrid value = Recipe::kTables.shape.grid;
};

template <class Recipe>
class RomFbank : public FbankSteps<RomFbank<Recipe>, FramerOf<ConstantGrid<Recipe>>> {
  static_assert(has_rom_form(Recipe::kOptions) && Recipe::kTables.lanes == 1);
  using Steps = FbankSteps<RomFbank<Recipe>, FramerOf<ConstantGrid<Recipe>>>;

 public:
  // Allocates. Error: out_of_memory.
  Status init(Memory& memory) noexcept {
    RUNNEL_TRY(this->framer_.init(memory));
    RUNNEL_TRY(this->take_arrays(memory));
    return fft_.init(memory);
  }
  [[nodiscard]] static constexpr const FbankTables& tables() noexcept { return Recipe::kTables; }

 private:
  friend Steps;
  static constexpr fbank::TableLayout kLayout{Recipe::kTables.options, Recipe::kTables.shape};
  // As in MelBank.
  static constexpr MelRows kRows = {
      .filters = Recipe::kTables.options.num_mel_bins,
      .lanes = 1,
      .zero_bin = static_cast<std::int32_t>(Recipe::kTables.shape.mel.bins()),
      .first_row = Recipe::kTables.integers,
      .bins = Recipe::kTables.integers + Recipe::kTables.options.num_mel_bins + 1,
      .weights = Recipe::kTables.floats + kLayout.mel};

  [[nodiscard]] static constexpr ScalarKernels kernels() noexcept { return {}; }
  void forward(const float* in, float* re, float* im) noexcept {
    fft_.forward(Recipe::kTables.floats + kLayout.fft, in, re, im);
  }
  [[nodiscard]] static constexpr const MelRows& mel_rows() noexcept { return kRows; }
  [[nodiscard]] static constexpr const float* dct() noexcept { return Recipe::kTables.floats + kLayout.dct; }

  ConstantFft<Recipe::kTables.shape.fft_size> fft_;
};

}  // namespace runnel::features
