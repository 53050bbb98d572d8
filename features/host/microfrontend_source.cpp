#include "features/host/microfrontend_source.h"

#include <vector>

#include "base/host/heap_memory.h"
#include "features/host/constant_text.h"
#include "features/microfrontend/microfrontend.h"

namespace runnel::features {
namespace {

template <class T>
std::string array_of(std::string_view type, std::string_view name, const T* values, std::size_t count) {
  return "  static constexpr " + std::string(type) + " " + std::string(name) + "[] = {" +
         list_of(std::span<const T>(values, count)) + "\n  };\n";
}

}  // namespace

Result<std::string> microfrontend_source(const MicrofrontendOptions& options, std::string_view name) {
  HeapMemory memory;
  RUNNEL_ASSIGN(const Microfrontend made, Microfrontend::make(options, Isa::reference, memory));
  const MicrofrontendTables& tables = made.tables();
  const MicrofrontendShape shape = unchecked_shape_of(options);
  const std::size_t bins = shape.fft_size / 2 + 1,
                    channels = static_cast<std::size_t>(options.num_mel_bins) + 1;
  std::string text = "struct " + std::string(name) + " {\n";
  text += "  static constexpr runnel::features::MicrofrontendOptions kOptions = {" +
          members_of(microfrontend_parameters(), options, "runnel::features::MicrofrontendOptions") +
          "\n  };\n";
  text += array_of("std::int16_t", "kWindow", tables.window, static_cast<std::size_t>(shape.grid.length));
  text += array_of("std::int16_t", "kRising", tables.rising, bins);
  text += array_of("std::int16_t", "kFalling", tables.falling, bins);
  text += array_of("std::uint16_t", "kBegin", tables.begin, channels);
  text += array_of("std::uint16_t", "kWidth", tables.width, channels);
  text += array_of("std::int16_t", "kGains", tables.gains, kGainEntries);
  text += array_of("std::int16_t", "kFactors", tables.factors, fixed::fft_factor_halves(shape.fft_size));
  text +=
      "  static constexpr runnel::features::MicrofrontendTables kTables = {kWindow, kRising, kFalling, "
      "kBegin, kWidth, kGains, kFactors, " +
      text_of(tables.first_bin) + ", " + text_of(tables.end_bin) + "};\n";
  return text + "};\n";
}

}  // namespace runnel::features
