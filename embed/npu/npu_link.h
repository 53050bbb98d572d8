// What a program with NPU segments links: `runnel embed` writes it into runnel_program::npu.
#pragma once

#include "embed/program.h"

namespace runnel::embed {

extern const NpuLink ethos_u_link;

}  // namespace runnel::embed
