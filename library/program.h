// A loaded program: the implementation of runnel_program, shared by its nodes and runs.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "library/models.h"
#include "library/runnel_host.h"
#include "library/settings.h"
#include "pipeline/host/graph.h"
#include "services/trust/trust.h"

namespace runnel::library {

// Thread-safe.
class Program {
 public:
  // Errors: those of runnel_load_file() and the others.
  static Result<std::shared_ptr<const Program>> from_file(const std::string& path, Settings settings);
  static Result<std::shared_ptr<const Program>> from_memory(std::span<const std::byte> bytes,
                                                            Settings settings);
  static Result<std::shared_ptr<const Program>> from_graph(const std::string& text, Settings settings);

  // A graph of it, in one zeroed piece of memory.
  [[nodiscard]] Result<std::unique_ptr<pipeline::Graph>> make_graph() const;
  // Whether its nodes can be saved. Error: unsupported, with the node that cannot.
  [[nodiscard]] const Status& saveable() const noexcept { return saveable_; }
  // Of what nodes with the same states have in common: graph, models, settings, and what the files hold that
  // decoders name. The first call computes it.
  [[nodiscard]] std::uint32_t identity() const;
  // Seconds; negative: unknown (runnel_delay_of).
  [[nodiscard]] double delay() const;

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<const char*>& labels() const noexcept { return label_pointers_; }
  [[nodiscard]] Models& models() const noexcept { return *models_; }
  [[nodiscard]] runnel_facts facts() const noexcept;

 private:
  explicit Program(Settings settings) : settings_(std::move(settings)) {}
  Status make_models();
  Status load(const std::string& model);
  // The graph with source, ends and the conversions that it needs.
  Result<std::unique_ptr<pipeline::Graph>> convert(const std::string& around);
  Status build(const std::string& around);
  [[nodiscard]] pipeline::GraphOptions graph_options() const;

  Settings settings_;
  std::optional<crypto::Key> key_;
  std::shared_ptr<const trust::Trust> trust_;  // null: all models are taken
  std::unique_ptr<Models> models_;
  std::string text_, name_;
  std::vector<std::string> labels_;
  std::vector<const char*> label_pointers_;
  std::size_t memory_bytes_ = 0;
  Status saveable_;
  std::uint32_t tables_ = 0;  // of decoders: words, phrases
  mutable std::once_flag identified_, measured_;
  mutable std::uint32_t identity_ = 0;
  mutable double delay_ = -1;
};

}  // namespace runnel::library
