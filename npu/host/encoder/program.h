// Program under construction: operations on buffers without addresses. finish() adds addresses, weights,
// waits and registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "npu/host/encoder/generation.h"
#include "npu/host/encoder/step.h"
#include "npu/host/segment.h"

namespace runnel::npu {

class Program {
 public:
  // Lifetime of a buffer: its operations, from the start of a run, to its end, or across runs.
  enum class Lifetime : std::uint8_t { operations, from_begin, to_end, always };

  explicit Program(const ProgramOptions& options);

  BufferId buffer(std::size_t bytes, Lifetime lifetime = Lifetime::operations);
  // External memory with its own region; kNoBuffer when all regions are taken.
  BufferId own_region();
  // Read-only bytes; equal ones share a buffer.
  BufferId constant(std::vector<std::byte> bytes);
  // Extends a buffer's lifetime to the end of the run.
  void keep_to_end(BufferId id);
  void keep_from_begin(BufferId id);

  // In the terms of U55 and U65, whatever the accelerator. What it cannot compute is remembered (status()).
  void add(Step step);
  // The first step that this accelerator cannot compute: unsupported with the reason.
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  [[nodiscard]] const ProgramOptions& options() const { return options_; }

  // Errors: as status(); not_found when an operation has no block that fits; out_of_memory when the limit of
  // the scratch memory is too low even for the smallest variant.
  Result<CompiledProgram> finish();

 private:
  struct Buffer {
    std::size_t bytes = 0;
    bool from_begin = false, to_end = false, is_constant = false;
    std::uint8_t own = 0;  // its region if it is external, else 0
    std::vector<std::byte> data;
  };
  struct Streams {  // of one step, consecutive in the constants
    std::size_t offset = 0, bytes = 0;
    std::vector<Bytes> scales, weights;  // relative to the step's streams
    BufferId copy = kNoBuffer;           // where they are copied to
  };

  struct Planned {
    std::vector<Step> steps;
    double cycles = 0;
  };
  Result<Planned> plan(std::vector<Step> steps) const;
  [[nodiscard]] std::vector<std::vector<bool>> layouts() const;
  [[nodiscard]] Result<CompiledProgram> best_layout() const;
  Result<CompiledProgram> best();
  // What variants are compared by: the smallest is taken.
  using Cost = std::array<double, 3>;
  [[nodiscard]] Cost cost_of(const CompiledProgram& program) const;
  Result<CompiledProgram> emit();
  void pack(Step& step, Streams& streams);
  std::size_t append(std::span<const std::byte> bytes);
  void allocate();
  // Only the program's steps use it.
  [[nodiscard]] static bool is_inside(const Buffer& buffer) {
    return !buffer.is_constant && buffer.own == 0 && !buffer.from_begin && !buffer.to_end;
  }
  [[nodiscard]] std::uint8_t region_of(BufferId id) const;
  [[nodiscard]] std::uint8_t expected_region(BufferId id) const;
  [[nodiscard]] std::uint8_t region_or_scratch(BufferId id) const;
  void place(FeatureMap& map, BufferId id) const;

  ProgramOptions options_;
  std::shared_ptr<const Generation> generation_;
  Status status_;
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::vector<Streams> streams_;
  std::map<std::string, std::size_t> known_;  // offsets of constants by their bytes
  std::uint8_t next_own_ = kFirstOwn;
  // Buffers in the fast memory, and those that are expected there while steps are planned.
  std::vector<bool> fast_, expected_fast_;
  CompiledProgram out_;
};

}  // namespace runnel::npu
