// Decodes the encoder's frames of a transducer with a stateless decoder into words.
//
// At most one token per frame (decoding/transducer_beam.h). The decoder runs for new tokens, the joiner for
// every frame and hypothesis. Before the first token the decoder sees blanks.
#pragma once

#include "decoding/transducer_beam.h"
#include "pipeline/nodes/decode/decoder.h"
#include "pipeline/nodes/decode/transducer_models.h"

namespace runnel::pipeline {

class Transducer : public Decoder {
 public:
  static const NodeType type;

  std::string_view mode = "greedy";
  std::string_view joiner, decoder;  // model files
  std::int64_t beam = 4;
  std::string_view hotwords;
  double hotword_score = 2;

  Status prepare(NodeContext& context) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    Decoder::state(archive);
    beam_.state(archive);
    archive.expect(!full(), "a full utterance");
  }

 protected:
  Status read_tables(NodeContext& context, std::int32_t classes) noexcept override;
  void restart_search() noexcept override { beam_.restart(); }
  void next_utterance(bool keep) noexcept override { beam_.next_utterance(keep); }
  bool step(std::span<const float> values, std::int32_t frame, bool& silent) noexcept override;
  // The search stays where it is.
  void step_blank(std::int32_t) noexcept override {}
  Found found(bool final) noexcept override;
  [[nodiscard]] bool heard_any() const noexcept override { return beam_.heard(); }
  [[nodiscard]] bool full() const noexcept override { return beam_.full(); }

 private:
  TransducerModels models_;
  decoding::TransducerBeam beam_;
  decoding::HeardToken* found_ = nullptr;  // [max_tokens]
  bool* begins_word_ = nullptr;            // [classes]
};

}  // namespace runnel::pipeline
