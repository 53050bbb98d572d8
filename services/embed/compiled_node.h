// The model compiled into constants: what `--step` makes of the inference.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "compiler/embed/sources.h"
#include "inference/model/model.h"
#include "pipeline/host/text.h"
#include "services/embed/dry_run.h"

namespace runnel::embedding {

// Replaces the interpreting node of `program` by one with the model as constants, and measures the memory
// again: `dry` is the run with the interpreted model, and then that with the compiled one. `fast`: bytes of
// the second tier of memory. Errors: those of compile_model() and of the run.
Status compile_node(const Model& model, const std::vector<pipeline::NodeText>& chain, std::size_t fast,
                    compiler::EmbeddedProgram& program, DryRun& dry);

}  // namespace runnel::embedding
