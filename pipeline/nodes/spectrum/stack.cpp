#include "pipeline/nodes/spectrum/stack.h"

namespace runnel::pipeline {
namespace {

constexpr Port kFrames = {static_cast<Kinds>(Kind::frames), "float32"};
constexpr Parameter kParameters[] = {
    parameter<&Stack::frames>("frames", "frames", 1, 1000, "frames per stack"),
    parameter<&Stack::step>("step", "frames", 1, 1000, "from stack to stack"),
    switch_parameter<&Stack::pad>(
        "pad", "repeats the first and last frame, so that every step has a stack; false: whole stacks only"),
    text_parameter<&Stack::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

}  // namespace

const NodeType Stack::type = {.name = "stack",
                              .help = "Concatenates several frames into one (low frame rate features).",
                              .input = kFrames,
                              .output = kFrames,
                              .parameters = kParameters,
                              .make = make_node<Stack>};

Status Stack::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  RUNNEL_TRY(
      stack_.init({frames, step, pad}, static_cast<std::size_t>(context.input.channels), context.memory));
  return start(type.name, stack_, false, context);
}

}  // namespace runnel::pipeline
