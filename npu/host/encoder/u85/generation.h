// The generation of the Ethos-U85.
#pragma once

#include <memory>

#include "npu/host/encoder/generation.h"

namespace runnel::npu::u85 {

// Errors: as Generation::make.
Result<std::shared_ptr<const Generation>> make_generation(const ProgramOptions& options);

}  // namespace runnel::npu::u85
