// Events and gaps as the records of a run (docs/pipeline.md, events), for nodes that write or send them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/block.h"
#include "pipeline/format.h"

namespace runnel::pipeline {

// The fields of an event as text.
using EventFields = std::vector<std::pair<std::string_view, std::string>>;

struct HeardText;

class EventRecords {
 public:
  EventRecords() = default;
  // `source`: the name in the records; empty: that of the recording or device.
  EventRecords(std::string_view source, const Format& input);

  // Changes the source; the rate stays the same.
  void name_source(std::string_view name);
  // Further records are those of a stream that began so many samples before the first one that it heard.
  // `rate`: of these samples, in Hz.
  void begin_at(std::int64_t first, std::int64_t rate);

  // One line of JSON, without the newline. Of decoders of speech: "partial" or "final" with text, tokens and
  // words.
  [[nodiscard]] std::string event(const Event& event) const;
  [[nodiscard]] std::string gap(const Gap& gap) const;
  // label, score, start, end, frame, source, and json: the record.
  [[nodiscard]] EventFields fields(const Event& event) const;

 private:
  [[nodiscard]] std::string seconds(std::int64_t at) const;
  [[nodiscard]] std::string transcript(const Event& event) const;
  [[nodiscard]] std::string heard(std::string_view name, const HeardText& text) const;

  std::string source_, source_json_;
  std::int64_t sample_rate_ = 0;
  std::int64_t first_ = 0;  // in units of sample_rate_
};

// Replaces "{label}" in `text` by the label, and so on. Other text in braces stays unchanged.
std::string filled_in(std::string_view text, const EventFields& fields);

}  // namespace runnel::pipeline
