// Command streams as text.
#pragma once

#include <string>

#include "npu/operation.h"

namespace runnel::npu {

// One line, without its end: word, operation, geometry, types, addresses, scaling, activation, blocks.
std::string to_text(const Operation& op);
// The same as one JSON object.
std::string to_json(const Operation& op);

// "r1+0x1f40"
std::string place_text(std::uint8_t region, std::int64_t address);

}  // namespace runnel::npu
