// The device as the back end of delegate segments: models with parts for an Ethos-U run on it, without a heap
// after preparing.
#pragma once

#include "inference/operator.h"
#include "npu/driver.h"

namespace runnel::npu {

// For tables of operators, beside those of the CPU. check() reads the whole command stream: what leaves its
// memory is refused before it is run. Each session has the scratch memory of each segment in its state, so
// that what an NPU keeps from run to run is reset, copied and saved with the session. A run takes one of the
// drivers that were added (driver.h). Inputs and outputs with a region of their own are read and written
// where they lie, if that is at a multiple of 16 bytes; others are copied into the scratch memory and out of
// it. Streams are stepped by the program for blocks. Preparing fails with not_found where there is no driver,
// with mismatch where none fits, with unsupported for another size of clip or block.
extern const OperatorDefinition ethos_u_v1;

// What went wrong in the last run of any segment; its outputs are zeros then.
const Status& last_run() noexcept;

}  // namespace runnel::npu
