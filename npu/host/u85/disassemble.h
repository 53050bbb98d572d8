// Operations of the Ethos-U85 as text (npu/host/disassemble.h).
#pragma once

#include "npu/host/listing.h"

namespace runnel::npu::u85 {

// Everything after the name of the operation. Not for waits.
std::string details_text(const Operation& op);
void add_details(const Operation& op, Json& out);

}  // namespace runnel::npu::u85
