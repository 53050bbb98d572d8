// The checks of Model::open: one pass, always compiled in, before any pointer into a file is used.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "inference/model/model_generated.h"

namespace runnel {

// The parts of a model file; null or empty when absent. Graph is always there.
struct Sections {
  std::span<const std::byte> weights;
  const fb::Graph* graph = nullptr;
  const fb::StreamPlan* plan = nullptr;
  const fb::Names* names = nullptr;
  const fb::Pipeline* pipeline = nullptr;
  const fb::Vectors* vectors = nullptr;
  const fb::Metadata* metadata = nullptr;
  const fb::Arenas* arenas = nullptr;
};

// Container, checksums and the FlatBuffers structure of every section.
Result<Sections> read_container(std::span<const std::byte> bytes, bool check_crc) noexcept;

// Tensors (ranks, dimensions, types, quantization, data ranges) and operators (indices, order of execution).
Status verify_graph(const fb::Graph& graph, std::span<const std::byte> weights) noexcept;

// Counts and indices of the sections beside the graph.
Status verify_side_sections(const Sections& sections) noexcept;

}  // namespace runnel
