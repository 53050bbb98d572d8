// The second core of boards that have one: mps2-an521 (two Cortex-M33), and QEMU's RISC-V machine with
// `-smp 2`. It computes the parts that runnel_cores hands to it, and sleeps in between.
#pragma once

#include "embed/cores/runnel_cores.h"

namespace runnel::firmware {

// Starts the second core; once.
void start_second_core() noexcept;
// It computes part 1 of jobs.
[[nodiscard]] runnel_cores two_cores() noexcept;

}  // namespace runnel::firmware

// Called around what a QEMU plugin counts (firmware/host/count_cores.c): a part on the second core; on the
// first one, from handing a job on to waiting for it, and the wait.
extern "C" {
void part_begins();
void part_ends();
void job_handed();
void wait_begins();
void wait_ends();
}
