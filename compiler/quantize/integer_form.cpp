#include "compiler/quantize/integer_form.h"

#include "compiler/passes/simplify/fuse_norm.h"
#include "compiler/passes/simplify/tidy.h"
#include "compiler/passes/streamify.h"

namespace runnel::compiler::quantizer {

Result<std::vector<std::string>> take_integer_form(const TargetRules& target, StreamOptions& stream,
                                                   Graph& graph) {
  std::vector<std::string> notes;
  if (graph.pipeline.usage == UsageKind::stream) {
    RUNNEL_ASSIGN(notes, give_windows(graph, stream, chosen_time_axes(graph, stream, {}), all_operators()));
    if (stream.attention) {
      stream.attention.reset();
      stream.required = true;
    }
  }
  if (!target.esp_dl) {
    fold_constants(graph);
    fuse_normalizations(graph);
    multiply_by_inverses(graph);
  }
  return notes;
}

}  // namespace runnel::compiler::quantizer
