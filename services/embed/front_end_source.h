// Front ends whose tables are constants of the program.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "compiler/embed/sources.h"
#include "pipeline/nodes/spectrum/fbank.h"
#include "pipeline/nodes/spectrum/microfrontend.h"

namespace runnel::embedding {

// Turn `out`, which has the names of the interpreting node, into the node at `index` of the chain with its
// tables in ROM. Errors: those of the settings.
Status fbank_in_rom(const pipeline::Fbank& node, std::size_t index, compiler::EmbeddedNode& out);
Status microfrontend_in_rom(const pipeline::Microfrontend& node, std::size_t index,
                            compiler::EmbeddedNode& out);

}  // namespace runnel::embedding
