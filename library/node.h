// A stream of a program: the implementation of runnel_node.
#pragma once

#include <memory>

#include "base/state_archive.h"
#include "base/status.h"
#include "embed/gate.h"
#include "library/nodes.h"
#include "library/outbox.h"
#include "library/program.h"
#include "library/runnel_host.h"

struct runnel_program {
  std::shared_ptr<const runnel::library::Program> of;
};

struct runnel_node {
  // Errors: those of making the graph.
  static runnel::Result<std::unique_ptr<runnel_node>> make(
      const std::shared_ptr<const runnel::library::Program>& program, const runnel_options& options);

  runnel::Status push(const void* samples, std::size_t frames, runnel::DType dtype);
  runnel::Status lose(std::uint64_t frames);
  runnel::Status end();
  void reset();

  // Until the next call that changes the node. 0: it cannot be saved.
  [[nodiscard]] std::size_t saved_bytes() const;
  runnel::Status save(std::span<std::byte> to) const;
  // When bytes fail that look right (their checksum is), the node is reset, and the sentence says so.
  runnel::Status restore(std::span<const std::byte> from);

  [[nodiscard]] runnel_counters counters() const;

  std::shared_ptr<const runnel::library::Program> program;
  std::unique_ptr<runnel::library::Outbox> outbox;
  std::unique_ptr<runnel::pipeline::Graph> graph;
  runnel::library::PushedSamples* source = nullptr;
  runnel::embed::EnergyGate gate;
  std::uint64_t gated = 0;
  std::uint32_t tables = 0;  // of its decoders of speech, which files may have changed
  bool ended = false;

 private:
  // Everything that later results depend on, and what waits but frames.
  void state(runnel::StateArchive& archive);
};
