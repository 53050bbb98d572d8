// Calibration data from files: .npy, raw float32 (.bin, .f32) and .csv, or folders of them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/calibrate/table_clips.h"

namespace runnel::compiler::quantizer {

// Files of one input of the graph. A file holds one clip ([1, 40, 98] for an input of that shape; the batch
// of one may be missing) or many along a leading axis; raw files hold a whole number of clips; lines of .csv
// files hold frames, channels or clips (table_clips.h). Values are read when they are asked for. `notes`, if
// given: how tables were read, one sentence each. Errors: io_error, invalid_data, invalid_argument, mismatch,
// naming file, expected and found.
Result<std::unique_ptr<Clips>> open_clip_files(const std::vector<std::filesystem::path>& paths,
                                               const Tensor& input, const TableOptions& options = {},
                                               std::vector<std::string>* notes = nullptr);

// What a file says about the shape of one clip of an input with `rank` axes: empty when it does not (raw
// files, .csv).
Result<std::vector<std::int64_t>> clip_shape_of(const std::filesystem::path& path, std::size_t rank);

// Files with calibration data among `paths`, folders opened and sorted by name. Errors: not_found.
Result<std::vector<std::filesystem::path>> list_clip_files(const std::vector<std::string>& paths);

// Clips of models with several inputs: one source for each, all of one size.
Result<std::unique_ptr<Clips>> joined_clips(std::vector<std::unique_ptr<Clips>> inputs);

}  // namespace runnel::compiler::quantizer
