#include "services/calibrate/recording_clips.h"

#include <algorithm>
#include <cstring>

#include "pipeline/host/front_end.h"
#include "services/batch/recordings/recording_list.h"

namespace runnel::calibrate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeptValues = std::size_t{48}
                                    << 20;  // of features kept in memory; further ones are recomputed

struct Piece {
  std::size_t file = 0, first = 0;
};

class RecordingClips final : public compiler::quantizer::Clips {
 public:
  RecordingClips(std::vector<fs::path> files, FrontEndFlags front_end, std::size_t frames, bool rows)
      : files_(std::move(files)), front_end_(std::move(front_end)), frames_(frames), rows_(rows) {}

  Status look() {
    kept_.resize(files_.size());
    std::size_t total = 0;
    for (std::size_t f = 0; f < files_.size(); ++f) {
      RUNNEL_ASSIGN(Features features, features_of(files_[f], front_end_));
      if (features.frames() < frames_)
        return Status(Code::mismatch)
               << files_[f].string() << ": " << features.frames() << " frames, the model's input takes "
               << frames_ << "; leave out what is shorter, or export the model with an input of at most "
               << features.frames() << " frames";
      std::size_t first = 0;
      for (; first + frames_ <= features.frames(); first += frames_) pieces_.push_back({f, first});
      if (first < features.frames()) pieces_.push_back({f, features.frames() - frames_});
      total += features.values.size();
      if (total <= kKeptValues) kept_[f] = std::move(features);
    }
    return {};
  }

  [[nodiscard]] std::size_t size() const override { return pieces_.size(); }
  [[nodiscard]] std::string name(std::size_t index) const override {
    return files_[pieces_[index].file].string() + " frame " + std::to_string(pieces_[index].first);
  }
  Status read(std::size_t index, compiler::quantizer::Clip& clip) const override {
    const Piece& piece = pieces_[index];
    Features again;
    if (kept_[piece.file].values.empty()) {
      RUNNEL_ASSIGN(again, features_of(files_[piece.file], front_end_));
    }
    const Features& features = kept_[piece.file].values.empty() ? again : kept_[piece.file];
    const std::size_t channels = features.channels;
    clip.assign(1, std::vector<float>(frames_ * channels));
    const float* from = features.values.data() + piece.first * channels;
    for (std::size_t t = 0; t < frames_; ++t) {
      for (std::size_t c = 0; c < channels; ++c)
        clip[0][rows_ ? t * channels + c : c * frames_ + t] = from[t * channels + c];
    }
    return {};
  }

 private:
  std::vector<fs::path> files_;
  FrontEndFlags front_end_;
  std::size_t frames_;
  bool rows_;
  std::vector<Piece> pieces_;
  std::vector<Features> kept_;
};

}  // namespace

Result<Features> features_of(const fs::path& path, const FrontEndFlags& front_end) {
  RUNNEL_ASSIGN(const pipeline::FrontEndFrames frames, pipeline::run_front_end(front_end.text, path));
  if (frames.format.dtype != DType::float32) {
    return Status(Code::mismatch) << path.string() << ": the front end gives " << name_of(frames.format.dtype)
                                  << ", expected float32 frames";
  }
  Features features;
  features.channels = static_cast<std::size_t>(frames.format.channels);
  features.values.resize(frames.data.size() / sizeof(float));
  if (!features.values.empty()) std::memcpy(features.values.data(), frames.data.data(), frames.data.size());
  return features;
}

Result<std::vector<fs::path>> recording_files(const std::vector<std::string>& paths) {
  RUNNEL_ASSIGN(const batch::Recordings recordings, batch::list_recordings(paths));
  std::vector<fs::path> files;
  for (const batch::Recording& recording : recordings) {
    if (Status status = batch::check_file(recording); !status.ok()) return status;
    if (recording.offset > 0 || recording.duration > 0)
      return Status(Code::unsupported) << recording.path << ": a piece of a recording, expected a whole one";
    files.emplace_back(recording.path);
  }
  return files;
}

Result<bool> frames_are_rows(const compiler::Tensor& input, std::size_t channels, std::size_t& frames,
                             int* axis) {
  const std::size_t count = compiler::element_count(input.shape);
  std::size_t rank = input.shape.size();
  // [1, T, C, 1]: the image layout of networks with channels last.
  if (rank == 4 && input.shape[3] == 1 && input.shape[1] > 1 &&
      static_cast<std::size_t>(input.shape[2]) == channels)
    rank = 3;
  const auto found = [&](bool rows) {
    if (axis != nullptr) *axis = rank < 2 ? -1 : static_cast<int>(rank) - (rows ? 2 : 1);
    return rows;
  };
  const auto is = [&](std::size_t back) {
    return rank > back && static_cast<std::size_t>(input.shape[rank - 1 - back]) == channels;
  };
  std::string text;
  for (const std::int32_t dim : input.shape) text += (text.empty() ? "[" : ",") + std::to_string(dim);
  frames = channels == 0 ? 0 : count / channels;
  if (is(0) || (frames == 1 && count == channels)) return found(true);
  if (is(1)) return found(false);
  return Status(Code::mismatch) << "the front end gives " << channels << " values per frame, input "
                                << input.name << " is " << text << "]";
}

Result<std::unique_ptr<compiler::quantizer::Clips>> recording_clips(const std::vector<fs::path>& files,
                                                                    const FrontEndFlags& front_end,
                                                                    const compiler::Tensor& input) {
  RUNNEL_ASSIGN(const Features first, features_of(files[0], front_end));
  std::size_t frames = 0;
  RUNNEL_ASSIGN(const bool rows, frames_are_rows(input, first.channels, frames));
  auto clips = std::make_unique<RecordingClips>(files, front_end, frames, rows);
  RUNNEL_TRY(clips->look());
  return std::unique_ptr<compiler::quantizer::Clips>(std::move(clips));
}

}  // namespace runnel::calibrate
