// From the nodes of an .espdl file to a graph.
#pragma once

#include <span>

#include "base/status.h"
#include "compiler/espdl/source.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::espdl_source {

// Ok, or unsupported naming every operator of the model that cannot be converted, each once, with the number
// of its nodes. `custom`: operators of the application; types that are converted here anyway are not among
// them.
Status check_operators(const Model& model, std::span<const CustomOperator> custom);

// The graph as this target computes it (`target` is not `automatic`; of the options only what the application
// brings counts). Test values become its vectors when their shapes fit. Errors: those of the first node that
// cannot be converted, with its name.
Result<Graph> convert(const Model& model, EspdlTarget target, const EspdlOptions& options);

}  // namespace runnel::compiler::espdl_source
