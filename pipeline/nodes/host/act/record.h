// Writes the sound around each event to a file.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "base/limits.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/act/history.h"
#include "pipeline/nodes/host/file/sound_file.h"

namespace runnel::pipeline {

// A file begins `before` seconds before its event, as far as the history goes back, and ends `after`
// seconds after it, or at the end of the stream or a gap. It is written as NAME.part while the sound arrives,
// and renamed to SECONDS-LABEL.wav when complete. Existing files are kept: the next one is
// SECONDS-LABEL-2.wav.
class Record final : public Node, public HistoryListener {
 public:
  static const NodeType type;
  static constexpr std::size_t kMaxAtOnce = limits::kRecordsAtOnce;

  std::string_view folder;
  double before = 1, after = 1;  // s
  std::string_view format = "wav";
  std::string_view encoding = "int16";

  // The history that it reads its samples from; required for recording.
  void connect(History& history);
  // Called with each file when it is complete.
  void tell(std::function<void(const std::filesystem::path&)> completed) {
    completed_ = std::move(completed);
  }

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status gap(const Gap&) noexcept override { return complete_all(); }
  Status finish() noexcept override { return complete_all(); }
  Text note() const noexcept override;
  Status heard() noexcept override;

 private:
  struct Clip {
    SoundFile file;
    std::filesystem::path path;
    std::int64_t next = 0, end = 0;  // samples of the history: the next to write, and one past the last
  };

  Status begin_clip(const Event& event);
  Status write(Clip& clip);
  Status complete(Clip& clip);
  Status complete_all() noexcept;

  History* history_ = nullptr;
  std::function<void(const std::filesystem::path&)> completed_;
  std::int64_t sample_rate_ = 0;  // of the source
  std::list<Clip> clips_;         // not complete yet
  std::int64_t left_out_ = 0;
};

}  // namespace runnel::pipeline
