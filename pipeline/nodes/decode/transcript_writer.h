// Makes words and text out of what a search has heard.
#pragma once

#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "decoding/heard.h"
#include "decoding/search_tables.h"
#include "pipeline/format.h"
#include "pipeline/transcript.h"

namespace runnel::pipeline {

// Writes the events of one block; their texts are valid until rewind(). No heap after prepare.
class TranscriptWriter {
 public:
  // `events`: most of a block. `tables` outlives this. Error: out_of_memory.
  Status prepare(Memory& memory, const decoding::SearchTables& tables, const Clock& clock,
                 std::int32_t max_tokens, std::int64_t events) noexcept;

  // A new block.
  void rewind() noexcept { used_ = 0; }

  struct Utterance {
    std::int64_t segment = 0;
    std::int64_t first = 0;  // frame of its stream that its frames count from
    std::int64_t frame = 0;  // of the decision
    bool final = false;
    std::size_t settled = 0;  // the first tokens that no later frame changes
  };
  // The event of what was heard. At most `events` between two rewinds.
  Event write(std::span<const decoding::HeardToken> heard, const Utterance& utterance) noexcept;

 private:
  struct Writing;
  void add_words(std::span<const decoding::HeardToken> heard, const Utterance& utterance,
                 Writing& to) const noexcept;
  void add_graph_words(std::span<const decoding::HeardToken> heard, const Utterance& utterance,
                       Writing& to) const noexcept;
  [[nodiscard]] std::int64_t begin_of(const Utterance& utterance,
                                      const decoding::HeardToken& token) const noexcept;
  [[nodiscard]] std::int64_t end_of(const Utterance& utterance,
                                    const decoding::HeardToken& token) const noexcept;

  const decoding::SearchTables* tables_ = nullptr;
  Clock clock_;
  std::size_t max_tokens_ = 0, text_bytes_ = 0;     // of an event
  Transcript* transcripts_ = nullptr;               // [events]
  HeardText *words_ = nullptr, *tokens_ = nullptr;  // [events][max_tokens]
  char* text_ = nullptr;                            // [events][text_bytes]
  std::size_t used_ = 0;
};

}  // namespace runnel::pipeline
