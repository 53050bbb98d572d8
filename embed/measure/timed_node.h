// A node of the graph, and the cycles that it takes.
#pragma once

#include "embed/measure/measures.h"
#include "pipeline/node.h"

namespace runnel::embed {

class TimedNode final : public pipeline::Node {
 public:
  TimedNode(pipeline::Node& node, Measures& measures, int stage) noexcept
      : node_(node), measures_(measures), stage_(stage) {}

  Status prepare(pipeline::NodeContext& context) noexcept override { return node_.prepare(context); }
  std::int64_t reset(std::int64_t first) noexcept override { return node_.reset(first); }
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override {
    if (stage_ == 0) measures_.begin_step();
    const std::uint32_t start = measures_.now();
    const Status status = node_.process(in, out);
    measures_.add(stage_, measures_.since(start));
    if (stage_ == 0) measures_.took(out.count);
    return status;
  }
  Status flush(pipeline::Output& out) noexcept override {
    const std::uint32_t start = measures_.now();
    const Status status = node_.flush(out);
    measures_.add_flush(stage_, measures_.since(start));
    return status;
  }
  Status gap(const pipeline::Gap& gap) noexcept override { return node_.gap(gap); }
  Status finish() noexcept override { return node_.finish(); }
  [[nodiscard]] Text note() const noexcept override { return node_.note(); }

 private:
  pipeline::Node& node_;
  Measures& measures_;
  int stage_;
};

}  // namespace runnel::embed
