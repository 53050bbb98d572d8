#include "features/host/fbank_source.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "base/host/heap_memory.h"
#include "features/fbank.h"
#include "features/fbank_parameters.h"

namespace runnel::features {
namespace {

std::string text_of(std::int32_t value) { return std::to_string(value); }

// Hexadecimal, so that nothing is rounded.
std::string text_of(float value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), std::fabs(value), std::chars_format::hex).ptr;
  return (std::signbit(value) ? "-0x" : "0x") + std::string(digits.begin(), end) + "F";
}

template <class T>
std::string list_of(std::span<const T> values) {
  constexpr std::size_t kPerLine = 12;
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) text += (i % kPerLine == 0 ? "\n      " : " ") + text_of(values[i]) + ",";
  return text;
}

// Parameters have the names and the order of the members.
std::string members_of(const FbankOptions& options) {
  std::string text;
  for (const Parameter& parameter : parameters()) {
    const double value = parameter.get(options);
    text += "\n      ." + std::string(parameter.name) + " = ";
    switch (parameter.type) {
      case ParameterFacts::Type::real:
        text += text_of(static_cast<float>(value));
        break;
      case ParameterFacts::Type::integer:
        text += text_of(static_cast<std::int32_t>(value));
        break;
      case ParameterFacts::Type::boolean:
        text += value != 0 ? "true" : "false";
        break;
      case ParameterFacts::Type::choice: {
        const std::string_view choice = choice_at(parameter.choices, static_cast<std::size_t>(value));
        text += "static_cast<decltype(runnel::features::FbankOptions::" + std::string(parameter.name) + ")>(" +
                text_of(static_cast<std::int32_t>(value)) + ") /* " + std::string(choice) + " */";
        break;
      }
    }
    text += ",";
  }
  return text;
}

}  // namespace

Result<std::string> fbank_source(const FbankOptions& options, std::string_view name) {
  if (options.fft != FftChoice::own) return Status(Code::invalid_argument, "fft=fftw has no tables; expected fft=own");
  if (options.log_max == LogMax::global) {
    return Status(Code::invalid_argument, "log_max=global holds a whole recording; expected log_max=running or fixed");
  }
  HeapMemory memory;
  RUNNEL_ASSIGN(const Fbank made, Fbank::make(options, Isa::reference, memory));
  const FbankTables& tables = made.tables();
  const FbankTableSizes sizes = fbank_table_sizes(options);
  std::string text = "struct " + std::string(name) + " {\n";
  text += "  static constexpr runnel::features::FbankOptions kOptions = {" + members_of(options) + "\n  };\n";
  text += "  alignas(64) static constexpr float kFloats[] = {" + list_of(std::span(tables.floats, sizes.floats)) + "\n  };\n";
  // A spectrum without a mel bank has no integers; arrays have at least one.
  text += "  static constexpr std::int32_t kIntegers[] = {" +
          (sizes.integers > 0 ? list_of(std::span(tables.integers, sizes.integers)) : std::string("0")) + "\n  };\n";
  text += "  static constexpr runnel::features::FbankTables kTables = runnel::features::fbank_tables(kOptions, kFloats, kIntegers);\n";
  return text + "};\n";
}

}  // namespace runnel::features
