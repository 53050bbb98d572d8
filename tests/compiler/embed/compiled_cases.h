// Models in their compiled form beside their files: what make_compiled_cases writes.
#pragma once

#include <cstdint>
#include <span>

#include "pipeline/nodes/model/rom_infer.h"

namespace runnel::test {

struct CompiledCase {
  const char* name;
  const char* file;    // in COMPILED_CASES
  std::int64_t block;  // frames of its input in a run
  const pipeline::CompiledModel* model;
};
std::span<const CompiledCase> compiled_cases_0();
std::span<const CompiledCase> compiled_cases_1();
std::span<const CompiledCase> compiled_cases_2();
std::span<const CompiledCase> compiled_cases_3();

}  // namespace runnel::test
