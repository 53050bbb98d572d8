// Sinks of graphs over many recordings: they give the output of each recording as text or bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/output_file.h"
#include "pipeline/node.h"
#include "services/batch/output_format.h"
#include "services/batch/recordings/recording.h"

namespace runnel::batch {

// A CSV field: quoted if it has commas, quotes or line ends.
std::string csv_row(const std::vector<std::string>& values);

// Events as rows of a CSV: source, id, label, score, start, end, frame.
class EventRows final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;  // event_rows
  static std::string header();

  // Sets the recording of the next run.
  void begin(const Recording& recording);
  [[nodiscard]] const std::string& rows() const { return rows_; }

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  const Recording* recording_ = nullptr;
  std::string rows_;
  std::int64_t sample_rate_ = 1;
};

// Frames: features, or the outputs of a model.
class FrameRows final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;  // frame_rows to=... activation=...

  // jsonl: {"type":"frame",...} for each; csv: a row for each; npy: the values; ark: a matrix of Kaldi;
  // files: an .npy file below `folder`.
  std::string_view to = "npy";
  // Whether softmax makes posteriors of the values.
  std::string_view activation = "none";
  std::string_view folder;

  // The columns of a CSV, once prepared: source, id, frame, start, end, and a name for each value.
  [[nodiscard]] std::string header() const;
  [[nodiscard]] const RowShape& shape() const { return shape_; }

  // For the next run. Error: io_error, when the recording's file cannot be created.
  Status begin(const Recording& recording);
  // The output of a complete run; the second: the line of the index, or of the recording's file.
  [[nodiscard]] std::string take_bytes();
  [[nodiscard]] std::string index_line() const;

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  Status finish() noexcept override;

 private:
  // Converts the values of a frame to float32 in values_.
  void convert(const std::byte* frame);
  Status give(std::int64_t index, const std::byte* frame);

  OutputFormat format_ = OutputFormat::npy;
  pipeline::Format frames_;
  RowShape shape_;
  bool softmax_ = false, as_they_are_ = false;
  std::vector<float> values_;
  std::string bytes_, file_name_;
  OutputFile file_;
  const Recording* recording_ = nullptr;
  std::int64_t rows_ = 0, file_bytes_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace runnel::batch
