#include "pipeline/nodes/spectrum/deltas.h"

namespace runnel::pipeline {
namespace {

constexpr Port kFrames = {static_cast<Kinds>(Kind::frames), "float32"};
constexpr Parameter kParameters[] = {
    parameter<&Deltas::window>("window", "frames", 3, 99,
                               "frames that one delta spans, odd; half of them are look-ahead"),
    parameter<&Deltas::order>("order", "", 1, 2, "1: deltas; 2: also deltas of deltas"),
    switch_parameter<&Deltas::with_static>("with_static", "puts the features themselves before the deltas"),
    text_parameter<&Deltas::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

}  // namespace

const NodeType Deltas::type = {.name = "deltas",
                               .help = "Deltas of frames over time, and deltas of deltas, edges replicated.",
                               .input = kFrames,
                               .output = kFrames,
                               .parameters = kParameters,
                               .make = make_node<Deltas>};

Status Deltas::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  RUNNEL_TRY(deltas_.init({window, order, with_static}, static_cast<std::size_t>(context.input.channels),
                          context.memory));
  return start(type.name, deltas_, false, context);
}

}  // namespace runnel::pipeline
