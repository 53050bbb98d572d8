#include "pipeline/nodes/host/file/png.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/host/output_name.h"
#include "base/limits.h"
#include "pipeline/host/picture/png_file.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Png::path>("path", "", "file to write", true),
    parameter<&Png::width>("width", "", 16, limits::kPictureColumns,
                           "most columns; in longer recordings a column is the mean of 2, 4, 8, .. frames"),
    text_parameter<&Png::axis>(
        "axis", "channel|hz|mel",
        "vertical axis: numbers of the values, Hz in equal steps, or filters of a mel bank"),
    text_parameter<&Png::mel_scale>("mel_scale", "htk|slaney", "of axis=mel, as the mel bank's"),
    parameter<&Png::low_freq>("low_freq", "Hz", 0, 1e9,
                              "lower end of axis=hz (the first value) and axis=mel (the bank)"),
    parameter<&Png::high_freq>("high_freq", "Hz", 0, 1e9,
                               "upper end, likewise; 0: half the source's sample rate"),
    text_parameter<&Png::scale>("scale", "value|db",
                                "colours for the values as they are, or for powers in decibels"),
    parameter<&Png::min>("min", "", -1e30, 1e30, "lower end of the colours; equal to max: the least value"),
    parameter<&Png::max>("max", "", -1e30, 1e30, "upper end of the colours; equal to min: the highest value"),
};

// Powers below this count as silence.
constexpr float kLeastPower = 1e-10F;

float read(const std::byte* from, DType type) noexcept {
  const auto as = [from](auto value) {
    std::memcpy(&value, from, sizeof value);
    return static_cast<float>(value);
  };
  switch (type) {
    case DType::float32:
      return as(0.0F);
    case DType::float64:
      return as(0.0);
    case DType::int8:
      return as(std::int8_t{});
    case DType::boolean:
    case DType::uint8:
      return as(std::uint8_t{});
    case DType::int16:
      return as(std::int16_t{});
    case DType::uint16:
      return as(std::uint16_t{});
    case DType::int32:
      return as(std::int32_t{});
    case DType::int64:
      return as(std::int64_t{});
    case DType::none:
      break;
  }
  return 0;
}

}  // namespace

const NodeType Png::type = {
    .name = "png",
    .help =
        "Draws frames (or samples) as a picture with axes and a colour bar: time to the right, values "
        "upwards.",
    .input = {Kind::audio | Kind::frames, "any type"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Png>,
};

Status Png::prepare(NodeContext& context) noexcept {
  if (!has_png()) return encode_png(Picture(1, 1)).status().at(path);
  format_ = context.input;
  const Clock& clock = format_.clock;
  labels_.title = format_.source;
  labels_.values = scale == "db" ? "dB" : "value";
  labels_.frame_s = 1 / std::max(clock.hz(), 1e-9);
  labels_.begin_s =
      static_cast<double>(clock.begin) / (static_cast<double>(clock.denominator) *
                                          static_cast<double>(std::max<std::int64_t>(clock.sample_rate, 1)));
  labels_.axis.kind = axis == "hz"    ? ValueAxis::Kind::hz
                      : axis == "mel" ? ValueAxis::Kind::mel
                                      : ValueAxis::Kind::channel;
  labels_.axis.scale = mel_scale == "slaney" ? features::MelScale::slaney : features::MelScale::htk;
  labels_.axis.low = low_freq;
  labels_.axis.high = high_freq > 0 ? high_freq : static_cast<double>(clock.sample_rate) / 2;
  if (axis != "channel" && labels_.axis.high <= labels_.axis.low)
    return Status(Code::invalid_argument) << "low_freq: expected less than high_freq";
  if (min > max) return Status(Code::invalid_argument) << "min: expected at most max";
  labels_.low = min;
  labels_.high = max;
  values_.resize(static_cast<std::size_t>(format_.channels));
  map_.emplace(values_.size(), static_cast<std::size_t>(width));
  RUNNEL_TRY(check_output_name(path, {".png"}));
  RUNNEL_ASSIGN(file_, OutputFile::create(path));
  return {};
}

Status Png::process(const Block& in, Output&) noexcept {
  const std::size_t bytes = size_of(format_.dtype);
  const float unit =
      format_.dtype == DType::float32 || format_.codes ? 1.0F : std::ldexp(1.0F, format_.exponent);
  for (std::int64_t i = 0; i < in.count; ++i) {
    const std::byte* frame = in.data + static_cast<std::size_t>(i) * format_.frame_bytes();
    for (std::size_t k = 0; k < values_.size(); ++k) {
      const float value = read(frame + k * bytes, format_.dtype) * unit;
      values_[k] = scale == "db" ? 10 * std::log10(std::max(value, kLeastPower)) : value;
    }
    map_->add(in.first + i, values_);
  }
  return {};
}

Status Png::finish() noexcept {
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, encode_png(map_->draw(labels_)));
  RUNNEL_TRY(file_.write(bytes));
  return file_.commit();
}

Text Png::note() const noexcept {
  Text text;
  if (map_ && map_->frames_per_column() > 1)
    text << path << ": every column is the mean of " << map_->frames_per_column()
         << " frames (width= has more columns)";
  return text;
}

}  // namespace runnel::pipeline
