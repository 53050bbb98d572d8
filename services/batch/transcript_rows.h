// What decoders of speech have heard in a recording, as subtitles, words or text.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/node.h"
#include "services/batch/output_format.h"
#include "services/batch/recordings/recording.h"

namespace runnel::batch {

// A word with its place in a recording, in source samples.
struct SpokenWord {
  std::string text;
  std::int64_t begin = 0, end = 0;
  float confidence = 0;
};

// The words of one recording in a format of is_transcript(). Subtitles begin anew with each utterance, after
// 84 characters and after 7 seconds. `utterances`: in their order. `key`: of ctm and txt.
std::string transcript_text(const std::vector<std::vector<SpokenWord>>& utterances, OutputFormat format,
                            std::string_view key, std::int64_t sample_rate);

// Final results; events of other decisions are words of their own.
class TranscriptRows final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;  // transcript_rows to=... folder=...

  std::string_view to = "txt";
  std::string_view folder;  // of subtitles: a file for each recording

  // For the next run. Error: io_error, when the folder of the recording's file cannot be created.
  Status begin(const Recording& recording);
  // The text of a complete run, where there is no folder; the line of the index, or of the recording's file.
  [[nodiscard]] std::string take_text() { return std::move(text_); }
  [[nodiscard]] std::string index_line() const;

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  Status finish() noexcept override;

 private:
  OutputFormat format_ = OutputFormat::txt;
  std::int64_t sample_rate_ = 1;
  const std::atomic<bool>* stop_ = nullptr;
  const Recording* recording_ = nullptr;
  std::vector<std::vector<SpokenWord>> utterances_;
  std::string text_, file_name_;
  std::size_t bytes_ = 0;
};

}  // namespace runnel::batch
