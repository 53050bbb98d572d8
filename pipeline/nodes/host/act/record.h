// Keeps the sound around each event as a file.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "pipeline/node.h"
#include "pipeline/nodes/host/act/history.h"
#include "pipeline/nodes/host/file/sound_file.h"

namespace runnel::pipeline {

// A file begins `before` seconds before its event, as far as the history goes back, and ends `after`
// seconds after it, or where the stream ends or samples were lost. It is written while the sound comes, as
// NAME.part, and has its name when it is complete: SECONDS-LABEL.wav. Files that are there stay: the next one
// is SECONDS-LABEL-2.wav.
class Record final : public Node, public HistoryListener {
 public:
  static const NodeType type;
  static constexpr std::size_t kMostAtOnce = 16;

  std::string_view folder;
  double before = 1, after = 1;  // s
  std::string_view format = "wav";
  std::string_view encoding = "int16";

  // The history that it takes its samples from. Without one, nothing can be recorded.
  void connect(History& history);
  // Called with each file when it is complete.
  void tell(std::function<void(const std::filesystem::path&)> completed) {
    completed_ = std::move(completed);
  }

  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status gap(const Gap&) noexcept override { return complete_all(); }
  Status finish() noexcept override { return complete_all(); }
  Text note() const noexcept override;
  Status heard() noexcept override;

 private:
  struct Clip {
    SoundFile file;
    std::filesystem::path path;
    std::int64_t next = 0, end = 0;  // samples of the history: to write next, and after the last one
  };

  Status begin_clip(const Event& event);
  Status write(Clip& clip);
  Status complete(Clip& clip);
  Status complete_all() noexcept;

  History* history_ = nullptr;
  std::function<void(const std::filesystem::path&)> completed_;
  std::int64_t sample_rate_ = 0;  // of the source
  std::list<Clip> clips_;         // that are not complete
  std::int64_t left_out_ = 0;
};

}  // namespace runnel::pipeline
