// Recordings: WAV, FLAC, OGG, AIFF and all other formats that libsndfile reads.
#pragma once

#include <string>

#include "pipeline/node.h"
#include "pipeline/nodes/host/file/recording_file.h"

namespace runnel::pipeline {

// Gives float32 in [-1, 1): integer samples divided by their full scale (exact for up to 24 bits), floats
// unchanged. Then `tail` seconds of zeros. In a piece of a recording, sample 0 is the first sample of the
// piece. `raw`: `header`, or the format of samples without a header.
class WavSource final : public Node {
 public:
  static const NodeType type;

  std::string_view path;
  std::string_view nan = "error";
  std::string_view truncated = "error";
  std::string_view raw = "header";
  std::int64_t rate = 0, channels = 0;  // of raw samples
  double offset = 0, duration = 0;      // seconds; duration 0: to the end
  double tail = 0;                      // seconds

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

  Text note() const noexcept override;

  // Valid once prepared: the number of samples in the header, -1 if unknown; and whether seeking is exact to
  // the sample (PCM and FLAC).
  [[nodiscard]] std::int64_t frames() const noexcept { return promised_; }
  [[nodiscard]] bool finds_samples() const noexcept { return finds_samples_; }

 private:
  Status open(SF_INFO& info) noexcept;
  [[nodiscard]] Status cannot_be_read() const noexcept;
  Status seek(const SF_INFO& info) noexcept;
  Status read(Output& out) noexcept;
  std::int64_t read_samples(float* to, std::int64_t frames) noexcept;
  Status check_finite(float* samples, std::int64_t frames) noexcept;
  Status check_complete() noexcept;

  RecordingFile input_;
  SNDFILE* file_ = nullptr;  // its
  std::string name_;         // path with a final zero
  int channels_ = 1;
  // A piece of the file, read with one call however small the blocks are: frames [at_, at_ + left_) of the
  // array that is not null. Samples of 16 bits are stored as in the file, others as floats.
  std::int16_t* words_ = nullptr;
  float* floats_ = nullptr;
  std::int64_t piece_ = 0;  // frames
  std::int64_t at_ = 0, left_ = 0;
  int error_ = SF_ERR_NO_ERROR;  // why the file cannot be read after these frames
  std::int64_t promised_ = -1;   // frames according to the header; -1: unknown
  std::int64_t position_ = 0;    // in the recording
  std::int64_t end_ = -1;        // end of the piece in the recording; -1: end of the recording
  std::int64_t silence_ = 0;     // frames of zeros left to give after the recording
  bool finds_samples_ = false;
  bool read_ = false;          // the recording has been read to its end
  std::int64_t replaced_ = 0;  // samples that were not finite
  std::int64_t missing_ = 0;   // frames in the header that are not in the file
};

}  // namespace runnel::pipeline
