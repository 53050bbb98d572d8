// runnel npu compile.
#pragma once

#include "apps/command_line.h"

namespace runnel::apps {

// Adds the subverb of `npu`.
void add_npu_compile(Verb npu, int& exit_code);

}  // namespace runnel::apps
