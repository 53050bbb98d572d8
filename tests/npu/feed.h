// Driver payloads that may be damaged: read, listed, judged, executed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "npu/host/segment.h"

namespace runnel::test {

// A payload with what stands beside it.
struct Program {
  std::string name;
  std::vector<std::byte> payload, constants;
  std::size_t scratch = 0, fast_scratch = 0;
  std::vector<npu::Port> inputs = {}, outputs = {};
};

// Streams of one operation each and more, made by hand.
std::vector<Program> made_programs();
// Parts of real networks that are small enough to be run often, and the others.
std::vector<Program> real_programs(const std::filesystem::path& data);
std::vector<Program> large_programs(const std::filesystem::path& data);

// Everything that a program does with a payload; what it would work on is bounded. Ok, or why it was refused.
Status feed_payload(const Program& beside, std::span<const std::byte> payload);

}  // namespace runnel::test
