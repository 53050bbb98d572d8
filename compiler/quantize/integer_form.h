// A float graph in the operators that have a form of integers.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/stream_options.h"
#include "compiler/quantize/options.h"

namespace runnel::compiler::quantizer {

// Before quantization: attention of a stream gets its windows (those of `stream`, or of masks in the file),
// so that ranges are those of the stream; normalizations and swish that the file spells out become single
// operators, quotients by a number products, and what follows from constants a constant, but for ESP-DL,
// whose operators stay. Windows asked for are taken out of `stream`, which then requires one. Returns a note
// for each change of attention. Errors: those of give_windows().
Result<std::vector<std::string>> take_integer_form(const TargetRules& target, StreamOptions& stream,
                                                   Graph& graph);

}  // namespace runnel::compiler::quantizer
