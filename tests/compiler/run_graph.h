// Runs a graph of the compiler through the runtime: written, opened, prepared, executed. For tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/write/writer.h"
#include "inference/model/model.h"
#include "inference/prepared.h"

namespace runnel::test {

using Bytes = std::vector<std::byte>;

class RunnableGraph {
 public:
  // Errors: those of write_model and Model::open.
  static Result<std::unique_ptr<RunnableGraph>> make(const compiler::Graph& graph);

  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const compiler::WrittenModel& written() const { return written_; }
  [[nodiscard]] bool streams() const { return model_->plan() != nullptr; }
  [[nodiscard]] std::int64_t block_multiple() const { return model_->plan()->block_multiple(); }
  // Time axis of a graph input or output in the plan; -1: none.
  [[nodiscard]] int time_axis(int tensor) const {
    return model_->plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
  }

  // One clip; `inputs` in the graph's order, `frames` as in PrepareOptions. Returns the outputs in the
  // graph's order.
  Result<std::vector<Bytes>> whole(const std::vector<Bytes>& inputs, std::int64_t frames = 0,
                                   int threads = 1) const;
  // One session, called once for each entry of `steps` (inputs in the graph's order); the outputs of every
  // call.
  Result<std::vector<std::vector<Bytes>>> stepped(const std::vector<std::vector<Bytes>>& steps) const;
  // The same input fed in blocks of `block` frames and flushed: every output as it would be whole. Each
  // streamed input is frame-major (nothing but ones before its time axis).
  Result<std::vector<Bytes>> streamed(const std::vector<Bytes>& inputs, std::int64_t block) const;

 private:
  struct Running;
  Result<std::vector<Bytes>> call(Running& running, const std::vector<Bytes>& inputs) const;

  compiler::WrittenModel written_;
  std::unique_ptr<Model> model_;
};

}  // namespace runnel::test
