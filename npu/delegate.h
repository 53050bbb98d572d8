// Delegate: the device as the back end of delegate segments. Models with parts for an Ethos-U run on it,
// without a heap after preparing.
#pragma once

#include "inference/operator.h"
#include "npu/driver.h"

namespace runnel::npu {

// For tables of operators, in addition to the CPU's. check() reads the whole command stream and refuses
// accesses outside its memory before any run. Each session has the scratch memory of each segment in its
// state, so that data that an NPU keeps between runs is reset, copied and saved with the session. A run takes
// one of the added drivers (driver.h). Inputs and outputs with a region of their own are used in place if
// they are at a multiple of 16 bytes; others are copied into and out of the scratch memory. The program for
// blocks steps streams. Preparing fails with not_found without a driver, with mismatch where none fits, with
// unsupported for another size of clip or block.
extern const OperatorDefinition ethos_u_v1;

// The status of the last run of any segment; after a failure its outputs are zeros.
const Status& last_run() noexcept;
// The first failure of any segment since the last call of this function; ok: none.
Status take_failure() noexcept;

}  // namespace runnel::npu
