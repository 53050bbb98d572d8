// A graph compiled for an Ethos-U, judged, simulated, and compared with the CPU. For tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/npu/compile.h"

namespace runnel::test {

inline constexpr const char* kMemoryModes[] = {"Sram_Only", "Shared_Sram", "Dedicated_Sram"};
// The accelerators of one generation.
struct Generation {
  const char* name;
  std::vector<const char*> accelerators;
  bool newest = false;

  [[nodiscard]] const char* of(std::size_t number) const {
    return accelerators[number % accelerators.size()];
  }
};
inline const Generation kU55AndU65{
    "U55AndU65",
    {"ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512"},
    false};
inline const Generation kU85{
    "U85", {"ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048"}, true};
inline std::string name_of(const testing::TestParamInfo<Generation>& info) { return info.param.name; }
inline std::ostream& operator<<(std::ostream& out, const Generation& generation) {
  return out << generation.name;
}

compiler::ethos_u::Options npu_options(const std::string& accelerator, const char* mode = "Shared_Sram");

// A written model's segments by our own validator. Ok, or the first violation.
Status judge(const std::vector<std::byte>& model);

// Of all segments of a compiled graph, as decoded.
Result<std::vector<npu::Operation>> operations_of(const compiler::ethos_u::CompiledGraph& compiled);
// Of all segments of a compiled graph, by the model of cycles.
Result<double> cycles_of(const compiler::ethos_u::CompiledGraph& compiled,
                         const npu::ProgramOptions& options);

// What differs between the CPU and the simulated NPU over whole clips of random bytes; ok: nothing.
// `compiled`, when given, receives the result.
Status compare_whole(const compiler::Graph& graph, const compiler::ethos_u::Options& options,
                     std::uint32_t seed, int rounds = 2,
                     compiler::ethos_u::CompiledGraph* compiled = nullptr);

// The same for a stream, compiled for blocks of options.block frames: streamed on the NPU in several block
// sizes and event-driven equals the whole clip on the CPU, for a clip of `frames` frames.
Status compare_streamed(const compiler::Graph& graph, const compiler::ethos_u::Options& options,
                        std::int64_t frames, std::uint32_t seed);

}  // namespace runnel::test
