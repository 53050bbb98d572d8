// Streams of a worker as those of a server: graphs with models, stepped together (services/serve/stream.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"
#include "pipeline/host/shared_sessions.h"
#include "services/fleet/runner.h"
#include "services/serve/stream.h"

namespace runnel::fleet {

class ServeRunner final : public Runner {
 public:
  // `around`: the graph between samples and events; nodes, models and operators of `options` are used.
  // `identity`: of graph and models, where their paths do not matter. `most`: streams. Errors: those of
  // Stream::make; unsupported for a graph whose nodes cannot be saved.
  static Result<std::unique_ptr<ServeRunner>> make(std::string around, const pipeline::GraphOptions& options,
                                                   std::uint32_t identity, std::size_t most);
  [[nodiscard]] std::uint32_t identity() const noexcept override { return identity_; }
  Result<std::unique_ptr<Run>> start(std::string_view name, const serve::SampleFormat& format,
                                     std::int64_t first) override;
  void hear(std::span<Turn> turns) override;

 private:
  ServeRunner(std::string around, const pipeline::GraphOptions& options, std::uint32_t identity,
              std::size_t most);

  std::string around_;
  pipeline::SharedSessions shared_;
  std::vector<const pipeline::NodeType*> nodes_;
  pipeline::GraphOptions options_;
  std::uint32_t identity_;
  serve::Together together_;
};

}  // namespace runnel::fleet
