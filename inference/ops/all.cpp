#include "inference/ops/definitions.h"

namespace runnel {
namespace {

#define RUNNEL_ENTRY(NAME) &ops::NAME,
const OperatorDefinition* const kAll[] = {RUNNEL_OPERATORS(RUNNEL_ENTRY)};
#undef RUNNEL_ENTRY

}  // namespace

OperatorTable all_operators() noexcept { return kAll; }

}  // namespace runnel
