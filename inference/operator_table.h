// The operators that a program links, as a table. Light: for headers that only pass it on.
#pragma once

#include <span>

namespace runnel {

struct OperatorDefinition;

using OperatorTable = std::span<const OperatorDefinition* const>;

// Every operator of this library.
OperatorTable all_operators() noexcept;

}  // namespace runnel
