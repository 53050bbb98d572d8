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

// A payload with its constants and regions.
struct Program {
  std::string name;
  std::vector<std::byte> payload, constants;
  std::size_t scratch = 0, fast_scratch = 0;
  std::vector<npu::Port> inputs = {}, outputs = {};
  std::uint64_t work = std::uint64_t{1} << 18;  // limit of a run
};

// Streams of one or more operations, made by hand.
std::vector<Program> made_programs();
// Parts of real networks, small enough to be run often or not; of a U85: apart.
std::vector<Program> real_programs(const std::filesystem::path& data);
std::vector<Program> u85_programs(const std::filesystem::path& data);
std::vector<Program> large_programs(const std::filesystem::path& data);
// The segments of a compiled file.
std::vector<Program> programs_of(const std::filesystem::path& file);

// Does everything that a program does with a payload, with bounded work. Ok, or why it was refused.
Status feed_payload(const Program& beside, std::span<const std::byte> payload);

}  // namespace runnel::test
