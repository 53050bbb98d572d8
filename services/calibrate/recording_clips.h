// Turns recordings into clips of a model's input with a front end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compiler/quantize/calibrate/clips.h"
#include "services/calibrate/calibrated_model.h"

namespace runnel::calibrate {

// Frames of one recording.
struct Features {
  std::vector<float> values;  // [frames][channels]
  std::size_t channels = 0;
  [[nodiscard]] std::size_t frames() const { return channels == 0 ? 0 : values.size() / channels; }
};

// Runs a recording through the front end. Errors: those of the graph, naming the file; mismatch when its
// output is not float32 frames.
Result<Features> features_of(const std::filesystem::path& path, const FrontEndFlags& front_end);

// Lists the whole recordings that these folders, patterns, lists and files name
// (services/batch/recordings/recording_list.h). Errors: those of the list; not_found for a missing file;
// unsupported for pieces of recordings.
Result<std::vector<std::filesystem::path>> recording_files(const std::vector<std::string>& paths);

// A recording is cut into clips as long as the input; the last clip is moved back to end with the recording.
// Errors: mismatch when the front end gives another number of values per frame, and for recordings that are
// too short.
Result<std::unique_ptr<compiler::quantizer::Clips>> recording_clips(
    const std::vector<std::filesystem::path>& files, const FrontEndFlags& front_end,
    const compiler::Tensor& input);

// The layout of frames of `channels` values in an input: true when the values of a frame are contiguous ([..,
// T, C]), false when those of a channel are ([.., C, T]); `frames`: the number of frames in the input;
// `axis`, if given: the axis that counts them, -1 for none. Errors: mismatch.
Result<bool> frames_are_rows(const compiler::Tensor& input, std::size_t channels, std::size_t& frames,
                             int* axis = nullptr);

}  // namespace runnel::calibrate
