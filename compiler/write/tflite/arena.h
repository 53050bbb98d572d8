// Where everything lies in the arena of a .tflite file: scratch memories of segments with their inputs and
// outputs inside, and the tensors of the operators between.
#pragma once

#include <cstddef>

#include "compiler/write/tflite/draft.h"

namespace runnel::compiler::tflite_source {

inline constexpr std::size_t kArenaAlignment = 16;  // of TensorFlow Lite Micro's arena

// Sets `arena` of all tensors without data; returns the arena's bytes. Tensors that are alive together do not
// overlap, but for those inside a scratch memory, which its program places.
std::size_t plan_tensor_arena(Draft& draft);

}  // namespace runnel::compiler::tflite_source
