#include "pipeline/nodes/host/file/npy_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/host/npy.h"
#include "base/limits.h"
#include "base/number_text.h"
#include "pipeline/nodes/host/table/time_stamps.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&NpySource::path>("path", "", "file to read, [time, channels] or [time]", true),
    required(parameter<&NpySource::rate>("rate", "Hz", 1e-5, 1e9, "rows per second")),
    text_parameter<&NpySource::missing>(
        "missing", "error|fill",
        "values that are infinite or not a number: refused, or replaced by 0 and counted"),
};

constexpr std::size_t kLongestHeader = (std::size_t{1} << 16) + 12;

template <class T>
void to_floats(const std::byte* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) {
    T value{};
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(value);
  }
}

void convert(DType type, const std::byte* from, std::size_t count, float* to) {
  switch (type) {
    case DType::float32:
      std::memcpy(to, from, count * sizeof(float));
      return;
    case DType::float64:
      return to_floats<double>(from, count, to);
    case DType::int8:
      return to_floats<std::int8_t>(from, count, to);
    case DType::boolean:
    case DType::uint8:
      return to_floats<std::uint8_t>(from, count, to);
    case DType::int16:
      return to_floats<std::int16_t>(from, count, to);
    case DType::uint16:
      return to_floats<std::uint16_t>(from, count, to);
    case DType::int32:
      return to_floats<std::int32_t>(from, count, to);
    case DType::int64:
      return to_floats<std::int64_t>(from, count, to);
    case DType::none:
      return;
  }
}

}  // namespace

const NodeType NpySource::type = {
    .name = "npy",
    .help = "Reads a recording from a NumPy file, one row per sample.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32, the file's numbers unscaled"},
    .parameters = kParameters,
    .make = make_node<NpySource>,
};

Status NpySource::prepare(NodeContext& context) noexcept {
  const std::filesystem::path name(path);
  std::error_code error;
  if (!std::filesystem::exists(name, error))
    return Status(Code::not_found) << path << ": there is no such file";
  if (std::filesystem::is_directory(name, error))
    return Status(Code::invalid_argument) << path << ": is a folder, expected a .npy file";
  const std::uintmax_t bytes = std::filesystem::file_size(name, error);
  file_.open(name, std::ios::binary);
  if (!file_ || error) return Status(Code::io_error) << path << ": cannot be opened";
  std::string head(static_cast<std::size_t>(std::min<std::uintmax_t>(bytes, kLongestHeader)), '\0');
  file_.read(head.data(), static_cast<std::streamsize>(head.size()));
  RUNNEL_ASSIGN(const NpyHeader header, parse_npy_header(head, bytes, name));
  if (header.shape.empty() || header.shape.size() > 2) {
    return Status(Code::invalid_data) << path << ": an array of " << header.shape.size()
                                      << " dimensions, expected [time, channels] or [time]";
  }
  rows_ = header.shape[0];
  channels_ = header.shape.size() == 2 ? header.shape[1] : 1;
  if (rows_ < 1) return Status(Code::invalid_data) << path << ": has no rows";
  if (channels_ < 1 || channels_ > static_cast<std::int64_t>(limits::kTableChannels))
    return Status(Code::invalid_data)
           << path << ": " << channels_ << " channels, expected 1 to " << limits::kTableChannels;
  dtype_ = header.dtype;
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(header.data_offset));
  raw_.resize(static_cast<std::size_t>(std::min(context.max_input, rows_) * channels_) * size_of(dtype_));
  const Rate fraction = rate_of(rate, 1e-9);
  if (fraction.samples == 0)
    return Status(Code::invalid_argument)
           << "rate=" << shortest_text(rate).view()
           << " Hz: expected a rate that is a fraction with a denominator up to 100000";
  Format& format = context.output;
  format.kind = Kind::audio;
  format.dtype = DType::float32;
  format.channels = static_cast<std::int32_t>(channels_);
  format.clock = {.sample_rate = fraction.samples,
                  .hop = fraction.seconds,
                  .begin = 0,
                  .span = fraction.seconds,
                  .denominator = 1};
  format.source = path;
  context.max_output = context.max_input;
  return {};
}

Status NpySource::check_finite(float* values, std::int64_t rows) noexcept {
  for (std::int64_t i = 0; i < rows * channels_; ++i) {
    if (std::isfinite(values[i])) continue;
    if (missing == "error") {
      return Status(Code::invalid_data)
             << path << ": row " << position_ + i / channels_ << " of channel " << i % channels_ << " is "
             << (std::isnan(values[i]) ? "not a number" : "infinite")
             << " (missing=fill replaces such values by 0)";
    }
    values[i] = 0;
    ++replaced_;
  }
  return {};
}

Status NpySource::process(const Block&, Output& out) noexcept {
  const std::int64_t count = std::min(out.capacity, rows_ - position_);
  const auto values = static_cast<std::size_t>(count * channels_);
  const auto bytes = static_cast<std::streamsize>(values * size_of(dtype_));
  file_.read(reinterpret_cast<char*>(raw_.data()), bytes);
  if (file_.gcount() != bytes)
    return Status(Code::io_error) << path << ": cannot be read after row " << position_;
  convert(dtype_, raw_.data(), values, out.as<float>());
  RUNNEL_TRY(check_finite(out.as<float>(), count));
  position_ += count;
  out.count = count;
  out.end = position_ == rows_;
  return {};
}

Text NpySource::note() const noexcept {
  Text text;
  if (replaced_ > 0) text << path << ": " << replaced_ << " values were not finite and were replaced by 0";
  return text;
}

}  // namespace runnel::pipeline
