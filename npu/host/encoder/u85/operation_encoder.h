// Operation encoder of the Ethos-U85: registers and command of one operation; the inverse of
// npu/u85/decoder.h.
#pragma once

#include <cstdint>

#include "npu/host/encoder/register_writer.h"
#include "npu/operation.h"

namespace runnel::npu::u85 {

// The configuration word of a driver payload for this device.
std::uint32_t config_word(const Accelerator& accelerator) noexcept;

// An operation that computes, as decoded.
void write(const Operation& op, const Accelerator& accelerator, RegisterWriter& to);
// The registers of a copy, without its command.
void write_copy(const Operation& op, RegisterWriter& to);

}  // namespace runnel::npu::u85
