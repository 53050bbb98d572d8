#include "features/host/fbank_source.h"

#include <span>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank.h"
#include "features/fbank/fbank_parameters.h"
#include "features/host/constant_text.h"

namespace runnel::features {

Result<std::string> fbank_source(const FbankOptions& options, std::string_view name) {
  if (options.fft != FftChoice::own)
    return Status(Code::invalid_argument, "fft=fftw has no tables; expected fft=own");
  if (options.log_max == LogMax::global) {
    return Status(Code::invalid_argument,
                  "log_max=global holds a whole recording; expected log_max=running or fixed");
  }
  HeapMemory memory;
  RUNNEL_ASSIGN(const Fbank made, Fbank::make(options, Isa::reference, memory));
  const FbankTables& tables = made.tables();
  const FbankTableSizes sizes = fbank_table_sizes(options);
  std::string text = "struct " + std::string(name) + " {\n";
  text += "  static constexpr runnel::features::FbankOptions kOptions = {" +
          members_of(parameters(), options, "runnel::features::FbankOptions") + "\n  };\n";
  text += "  alignas(64) static constexpr float kFloats[] = {" +
          list_of(std::span(tables.floats, sizes.floats)) + "\n  };\n";
  // A spectrum without a mel bank has no integers; arrays have at least one.
  text += "  static constexpr std::int32_t kIntegers[] = {" +
          (sizes.integers > 0 ? list_of(std::span(tables.integers, sizes.integers)) : std::string("0")) +
          "\n  };\n";
  text +=
      "  static constexpr runnel::features::FbankTables kTables = runnel::features::fbank_tables(kOptions, "
      "kFloats, kIntegers);\n";
  return text + "};\n";
}

}  // namespace runnel::features
