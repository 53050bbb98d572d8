// Pieces of listings that all Ethos-U share (disassemble.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "npu/operation.h"

namespace runnel::npu {

using Json = nlohmann::ordered_json;

std::string number(std::int64_t value);

// "  NAME 1x8x16 int8 nhwc r1+0x40 stride 128,16 ..."
std::string map_text(const char* name, const FeatureMap& map);
Json map_json(const FeatureMap& map);

bool has_window(const Operation& op);
bool waits(const Operation& op);
std::string kernel_text(const Operation& op);
// Adds "kernel" and "upscale".
void add_kernel(const Operation& op, Json& out);
// Streams that are there.
Json streams_json(const Bytes* streams, int count, std::uint8_t region);

}  // namespace runnel::npu
