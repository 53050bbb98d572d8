// runnel npu compile.
#pragma once

#include <CLI/CLI.hpp>

namespace runnel::apps {

// Adds the verb below `npu`.
void add_npu_compile(CLI::App* npu, int& exit_code);

}  // namespace runnel::apps
