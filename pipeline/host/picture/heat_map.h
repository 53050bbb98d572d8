// A stream of frames as a picture: time to the right, values upwards, brightness for magnitude; axes with
// numbers and a colour bar.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/limits.h"
#include "features/fbank/mel_triangle.h"
#include "pipeline/host/picture/picture.h"

namespace runnel::pipeline {

// Numbers of the vertical axis.
struct ValueAxis {
  enum class Kind : std::uint8_t {
    channel,  // rows are counted from 0
    hz,       // rows are equally far apart in Hz, the first at `low`, the last at `high`
    mel,      // rows are the filters of a mel bank from `low` to `high`
  } kind = Kind::channel;
  features::MelScale scale = features::MelScale::htk;  // of mel
  double low = 0, high = 0;                            // Hz
};

// Memory is bounded: there are at most `columns` columns and kMaxRows rows. When a recording is longer, a
// column is the mean of 2, 4, 8, ... frames; when frames have more values, a row is the mean of neighbouring
// ones.
class HeatMap {
 public:
  static constexpr int kMaxRows = limits::kPictureRows;

  HeatMap(std::size_t dims, std::size_t columns);

  // Frames may be missing; indices never decrease.
  void add(std::int64_t index, std::span<const float> values);

  struct Labels {
    std::string title, values;        // of the whole, and of the colour bar ("dB")
    double begin_s = 0, frame_s = 0;  // time of frame 0, distance of frames
    ValueAxis axis;
    double low = 0, high = 0;  // range of the colour scale; equal: the range of the values
  };
  [[nodiscard]] Picture draw(const Labels& labels) const;

  // Frames per column.
  [[nodiscard]] std::int64_t frames_per_column() const noexcept { return per_column_; }

  // The rectangle of the columns in the picture.
  static constexpr int kLeft = 72, kTop = 24, kBottom = 40, kRight = 104;
  // Pixels per column and row.
  [[nodiscard]] int column_width() const noexcept;
  [[nodiscard]] int row_height() const noexcept;

 private:
  void halve();

  std::size_t dims_, rows_, columns_;
  std::vector<float> sums_;           // [column][row]
  std::vector<std::int64_t> counts_;  // frames in each column
  std::int64_t per_column_ = 1;
  std::size_t used_ = 0;  // columns
};

// "0.25", "1200", "2.5e-05": as few digits as a distance of `step` needs.
std::string tick_text(double value, double step);
// Multiples of 1, 2 or 5 times a power of ten within [low, high], at most `most` of them; `step` is set to
// their distance.
std::vector<double> ticks_of(double low, double high, int most, double& step);

}  // namespace runnel::pipeline
