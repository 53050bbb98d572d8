// What a Wyoming server offers: models with their names, and what they are good for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "pipeline/host/graph.h"
#include "pipeline/host/shared_sessions.h"
#include "services/serve/stream.h"

namespace runnel::wyoming {

// wake: every label is a word that clients can wait for. speech: text. voice: whether somebody speaks.
enum class Use : std::uint8_t { wake, speech, voice };

struct OfferSettings {
  std::string name;    // of the model, as clients call it
  std::string around;  // graph text between samples and events: "fbank ! infer model=a.rnl ! detect"
};

// One model and the streams through it, which step together. Used by one thread.
class Offer {
 public:
  // The use follows from the graph: decoders of speech write text; a model whose only labels are "voice" or
  // "speech" (silence, noise and unknown do not count) says whether somebody speaks; others find words.
  // `streams`: at a time, at most. Errors: those of serve::Stream::make.
  static Result<std::unique_ptr<Offer>> make(const OfferSettings& settings,
                                             const pipeline::GraphOptions& graph, std::size_t streams);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Use use() const noexcept { return use_; }
  // Of a test that has no model of this use.
  void set_use(Use use) noexcept { use_ = use; }
  // What it can find; empty for speech.
  [[nodiscard]] const std::vector<std::string>& labels() const noexcept { return labels_; }

  // A stream in the format. `ends`: its events wait for the end of what they are about (endpoint_frames).
  // Errors: those of serve::Stream::make.
  Result<std::unique_ptr<serve::Stream>> open(const serve::SampleFormat& format, bool ends = false);
  void give_back(std::unique_ptr<serve::Stream> stream, bool ends = false);

 private:
  Offer(OfferSettings settings, pipeline::GraphOptions graph, std::size_t streams);
  Status look_at_graph();

  std::string name_;
  std::string around_, around_ends_;
  Use use_ = Use::wake;
  std::vector<std::string> labels_;
  pipeline::GraphOptions graph_;
  std::vector<const pipeline::NodeType*> nodes_;
  std::unique_ptr<pipeline::SharedSessions> shared_;  // precedes the streams, which refer to it
  std::vector<std::unique_ptr<serve::Stream>> free_, free_ends_;
};

}  // namespace runnel::wyoming
