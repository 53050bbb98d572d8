#include "inference/host/operator_traits.h"

#include <algorithm>
#include <array>
#include <vector>

#include "inference/host/operators/axes.h"
#include "inference/host/operators/elements.h"
#include "inference/host/operators/functions.h"
#include "inference/host/operators/movement.h"
#include "inference/host/operators/pairs.h"
#include "inference/host/operators/products.h"
#include "inference/host/operators/sessions.h"
#include "inference/operator.h"

namespace runnel {
namespace {

// The rows of all families, indexed by code; compilation fails when a code has no row, or two.
constexpr auto kTraits = [] {
  using namespace operators;
  std::array<OperatorTraits, kOpCodes> rows{};
  std::size_t count = 0;
  for (const std::span<const OperatorTraits> family :
       {std::span<const OperatorTraits>(kProductTraits), std::span<const OperatorTraits>(kPairTraits),
        std::span<const OperatorTraits>(kElementTraits), std::span<const OperatorTraits>(kFunctionTraits),
        std::span<const OperatorTraits>(kMovementTraits), std::span<const OperatorTraits>(kAxisTraits),
        std::span<const OperatorTraits>(kSessionTraits)}) {
    for (const OperatorTraits& traits : family) {
      OperatorTraits& row = rows[static_cast<std::size_t>(traits.code)];
      if (row.code != OpCode::none) throw "two rows for one operator";
      row = traits;
      ++count;
    }
  }
  if (count != rows.size() - 1) throw "an operator without a row";
  return rows;
}();

}  // namespace

std::span<const OperatorTraits> all_operator_traits() noexcept { return std::span(kTraits).subspan(1); }

const OperatorTraits& traits_of(OpCode code) noexcept { return kTraits[static_cast<std::size_t>(code)]; }

const ArithmeticFacts* arithmetic_facts(OpCode code, Arithmetic arithmetic) noexcept {
  if (code == OpCode::none || static_cast<int>(code) >= kOpCodes) return nullptr;
  for (const ArithmeticFacts& facts : traits_of(code).arithmetics) {
    if (facts.arithmetic == arithmetic && !facts.inputs.empty()) return &facts;
  }
  return nullptr;
}

std::string operators_markdown(OperatorTable table, std::string& missing) {
  std::vector<const OperatorDefinition*> sorted(table.begin(), table.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->name != b->name ? a->name < b->name : a->arithmetic < b->arithmetic;
  });
  std::string page =
      "# Operators\n\n"
      "Made from the table of operators by `operator_traits_test`; with `RUNNEL_UPDATE_DOCS=1` in the "
      "environment it writes this page anew.\n\n"
      "Types are those of activations: i8, i16 with a power-of-two scale each and zero point 0, f32 plain; "
      "\"with scales\": any scale\n"
      "and zero point. conv and fully_connected version 1 take those as well, and operators that move data "
      "where both sides agree. Integers are exact and the same\n"
      "everywhere. Floats have a fixed order of operations: the same bits on every machine, and in blocks of "
      "a stream as in the whole clip.\n"
      "Operators that follow time refuse by name what cannot be streamed and say what would help. Shapes and "
      "options: [model-file.md](model-file.md).\n\n"
      "| operator | version | arithmetic | code | inputs | types | along time | numbers "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const OperatorDefinition* definition : sorted) {
    const int version = static_cast<int>(definition->arithmetic);
    const ArithmeticFacts* const facts = arithmetic_facts(definition->code, definition->arithmetic);
    if (facts == nullptr) {
      missing +=
          std::string(definition->name) + " " + name_of(definition->code, definition->arithmetic) + "\n";
      continue;
    }
    page += "| " + std::string(definition->name) + " | " + std::to_string(version) + " | " +
            name_of(definition->code, definition->arithmetic) + " | " +
            std::to_string(static_cast<int>(definition->code));
    for (const std::string_view cell :
         {facts->inputs, facts->types, definition->stream == nullptr ? std::string_view("no") : facts->stream,
          facts->numbers}) {
      page += " | " + std::string(cell);
    }
    page += " |\n";
  }
  return page;
}

}  // namespace runnel
