#include "services/batch/sinks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "pipeline/host/json.h"
#include "pipeline/transcript.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;
using pipeline::Block;
using pipeline::json_number;
using pipeline::json_seconds;
using pipeline::json_string;
using pipeline::Kind;
using pipeline::Kinds;
using pipeline::NodeContext;
using pipeline::Output;
using pipeline::text_parameter;

constexpr pipeline::Parameter kFrameParameters[] = {
    text_parameter<&FrameRows::to>("to", "jsonl|csv|npy|ark|files", "what the frames become"),
    text_parameter<&FrameRows::activation>("activation", "none|softmax",
                                           "softmax: the values are logits, give posteriors"),
    text_parameter<&FrameRows::folder>("folder", "", "where files go"),
};

void append_bytes(std::string& to, const void* from, std::size_t bytes) {
  to.append(static_cast<const char*>(from), bytes);
}

// The shortest text that reads back as the same float32.
std::string shortest(float value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

template <class T>
void to_floats(const std::byte* from, float scale, std::vector<float>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    T value{};
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(value) * scale;
  }
}

void softmax(std::vector<float>& values) {
  const float highest = *std::max_element(values.begin(), values.end());
  float sum = 0;
  for (float& value : values) sum += value = std::exp(value - highest);
  for (float& value : values) value /= sum;
}

// Before a binary matrix in an archive: the key, "\0B", type, and the sizes, each after its own size in
// bytes.
std::string ark_header(std::string_view key, std::int64_t rows, std::int64_t values) {
  std::string text = std::string(key) + ' ';
  text += std::string("\0BFM ", 5);
  for (const std::int64_t size : {rows, values}) {
    const auto number = static_cast<std::int32_t>(size);
    text += '\4';
    append_bytes(text, &number, sizeof number);
  }
  return text;
}

}  // namespace

std::string csv_row(const std::vector<std::string>& values) {
  std::string row;
  for (const std::string& value : values) {
    if (&value != values.data()) row += ',';
    if (value.find_first_of(",\"\r\n") == std::string::npos) {
      row += value;
      continue;
    }
    row += '"';
    for (const char letter : value) row += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    row += '"';
  }
  return row + '\n';
}

const pipeline::NodeType EventRows::type = {
    .name = "event_rows",
    .help = "Gives events as rows of a table.",
    .input = {static_cast<Kinds>(Kind::events), "events"},
    .output = {},
    .parameters = {},
    .make = pipeline::make_node<EventRows>,
};

std::string EventRows::header() { return "source,id,label,score,start,end,frame\n"; }

void EventRows::begin(const Recording& recording) {
  recording_ = &recording;
  rows_.clear();
}

Status EventRows::prepare(NodeContext& context) noexcept {
  sample_rate_ = context.input.clock.sample_rate;
  return {};
}

Status EventRows::process(const Block& in, Output&) noexcept {
  const pipeline::Event* const events = in.as<pipeline::Event>();
  for (std::int64_t i = 0; i < in.count; ++i) {
    const pipeline::Event& event = events[i];
    if (pipeline::is_partial(event)) continue;
    rows_ +=
        csv_row({recording_->path, recording_->id, std::string(event.label),
                 json_number(static_cast<double>(event.score), 4), json_seconds(event.begin, sample_rate_),
                 json_seconds(event.end, sample_rate_), std::to_string(event.frame)});
  }
  return {};
}

const pipeline::NodeType FrameRows::type = {
    .name = "frame_rows",
    .help = "Gives frames as text, or as arrays.",
    .input = {Kind::frames | Kind::audio, "any type"},
    .output = {},
    .parameters = kFrameParameters,
    .make = pipeline::make_node<FrameRows>,
};

Status FrameRows::prepare(NodeContext& context) noexcept {
  if (!parse_format(to, format_))
    return Status(Code::invalid_argument) << "to=" << to << ": expected a format";
  frames_ = context.input;
  stop_ = context.stop;
  softmax_ = activation == "softmax";
  values_.resize(static_cast<std::size_t>(frames_.channels));
  as_they_are_ = !softmax_ && (format_ == OutputFormat::npy || format_ == OutputFormat::files);
  shape_ = {as_they_are_ ? frames_.dtype : DType::float32, frames_.channels};
  return {};
}

std::string FrameRows::header() const {
  std::vector<std::string> names = {"source", "id", "frame", "start", "end"};
  for (std::int64_t i = 0; i < shape_.values; ++i) {
    const auto at = static_cast<std::size_t>(i);
    names.push_back(at < frames_.labels.size() ? std::string(frames_.labels[at])
                                               : "value" + std::to_string(i));
  }
  return csv_row(names);
}

Status FrameRows::begin(const Recording& recording) {
  recording_ = &recording;
  bytes_.clear();
  rows_ = 0;
  file_ = {};
  if (format_ != OutputFormat::files) return {};
  const fs::path path = fs::path(folder) / (recording.key() + ".npy");
  file_name_ = (fs::path(folder).filename() / (recording.key() + ".npy")).string();
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    return Status(Code::io_error) << path.parent_path().string()
                                  << ": cannot be created: " << error.message();
  RUNNEL_ASSIGN(file_, OutputFile::create(path));
  return file_.write(array_header(shape_, 0));
}

void FrameRows::convert(const std::byte* frame) {
  const float scale = std::ldexp(1.0F, frames_.exponent);
  switch (frames_.dtype) {
    case DType::float32:
      to_floats<float>(frame, 1, values_);
      break;
    case DType::float64:
      to_floats<double>(frame, 1, values_);
      break;
    case DType::int8:
      to_floats<std::int8_t>(frame, scale, values_);
      break;
    case DType::boolean:
    case DType::uint8:
      to_floats<std::uint8_t>(frame, scale, values_);
      break;
    case DType::int16:
      to_floats<std::int16_t>(frame, scale, values_);
      break;
    case DType::uint16:
      to_floats<std::uint16_t>(frame, scale, values_);
      break;
    case DType::int32:
      to_floats<std::int32_t>(frame, scale, values_);
      break;
    case DType::int64:
      to_floats<std::int64_t>(frame, scale, values_);
      break;
    case DType::none:
      break;
  }
  if (softmax_ && !values_.empty()) softmax(values_);
}

Status FrameRows::give(std::int64_t index, const std::byte* frame) {
  ++rows_;
  convert(frame);
  const std::span<const std::byte> floats = std::as_bytes(std::span(values_));
  if (format_ == OutputFormat::files) return file_.write(floats);
  if (format_ == OutputFormat::npy || format_ == OutputFormat::ark) {
    append_bytes(bytes_, floats.data(), floats.size());
    return {};
  }
  const pipeline::Clock& clock = frames_.clock;
  const std::string start =
                        json_seconds(std::max<std::int64_t>(clock.first_sample(index), 0), clock.sample_rate),
                    end = json_seconds(clock.end_sample(index), clock.sample_rate);
  if (format_ == OutputFormat::csv) {
    std::vector<std::string> row = {recording_->path, recording_->id, std::to_string(index), start, end};
    for (const float value : values_) row.push_back(shortest(value));
    bytes_ += csv_row(row);
    return {};
  }
  std::string line = "{\"type\":\"frame\",\"source\":" + json_string(recording_->path) +
                     ",\"frame\":" + std::to_string(index) + ",\"start\":" + start + ",\"end\":" + end +
                     ",\"values\":[";
  for (std::size_t i = 0; i < values_.size(); ++i) line += (i > 0 ? "," : "") + shortest(values_[i]);
  bytes_ += with_fields(line + "]}", *recording_) + '\n';
  return {};
}

Status FrameRows::process(const Block& in, Output&) noexcept {
  const std::size_t bytes = frames_.frame_bytes();
  if (as_they_are_) {
    const std::span<const std::byte> all(in.data, static_cast<std::size_t>(in.count) * bytes);
    rows_ += in.count;
    if (format_ == OutputFormat::files) return file_.write(all);
    append_bytes(bytes_, all.data(), all.size());
    return {};
  }
  for (std::int64_t i = 0; i < in.count; ++i)
    RUNNEL_TRY(give(in.first + i, in.data + static_cast<std::size_t>(i) * bytes));
  return {};
}

Status FrameRows::finish() noexcept {
  if (format_ != OutputFormat::files) return {};
  // The array of an incomplete recording is not kept.
  if (stop_ != nullptr && stop_->load(std::memory_order_relaxed))
    return Status(Code::io_error, "interrupted");
  const std::string header = array_header(shape_, rows_);
  file_bytes_ = static_cast<std::int64_t>(header.size()) + rows_ * shape_.bytes();
  RUNNEL_TRY(file_.write_at(0, std::as_bytes(std::span(header))));
  return file_.commit();
}

std::string FrameRows::take_bytes() {
  if (format_ == OutputFormat::ark) bytes_.insert(0, ark_header(recording_->key(), rows_, shape_.values));
  return std::move(bytes_);
}

std::string FrameRows::index_line() const {
  if (format_ == OutputFormat::csv)
    return "{\"type\":\"rows\",\"source\":" + json_string(recording_->path) +
           ",\"rows\":" + std::to_string(rows_) + "}";
  std::string line = array_line(recording_->path, recording_->key(), rows_, shape_, frames_.clock.hz());
  if (format_ != OutputFormat::files) return line;
  line.pop_back();
  return line + ",\"file\":" + json_string(file_name_) + ",\"bytes\":" + std::to_string(file_bytes_) + "}";
}

}  // namespace runnel::batch
