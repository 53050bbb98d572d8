#include "pipeline/nodes/host/file/wav_source.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <shared_mutex>
#include <span>

#include "base/limits.h"
#include "pipeline/host/live/sample_code.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&WavSource::path>("path", "", "recording to read", true),
    text_parameter<&WavSource::nan>(
        "nan", "error|zero",
        "samples that are infinite or not a number: refused, or replaced by 0 and counted"),
    text_parameter<&WavSource::truncated>(
        "truncated", "error|accept",
        "a file shorter than its header says, or without samples: refused, or read as far as it goes"),
    text_parameter<&WavSource::raw>(
        "raw", "header|u8|s8|s16le|s16be|s24le|s24be|s32le|s32be|f32le|f32be|f64le|f64be|ulaw|alaw",
        "type of bare samples in a file without a header; header: the file has one"),
    parameter<&WavSource::rate>("rate", "Hz", 0, limits::kStreamRate, "rate of bare samples"),
    parameter<&WavSource::channels>("channels", "", 0, limits::kRecordingChannels,
                                    "channels of bare samples"),
    parameter<&WavSource::offset>("offset", "s", 0, 1e9, "start of the piece to read"),
    parameter<&WavSource::duration>("duration", "s", 0, 1e9, "length of the piece; 0: to the end"),
    parameter<&WavSource::tail>("tail", "s", 0, 3600,
                                "silence appended, for a word at the end of the recording"),
};

// Sizes that programs write into a header when they do not know the size yet.
constexpr std::int64_t kUnknownSize = 0x7ff00000;
// Fewer bytes than a WAV header has: the chunks RIFF, fmt and the head of data.
constexpr std::uintmax_t kWavHeader = 44;
// More bytes than any header needs: a file of this size that has no samples was never closed.
constexpr std::uintmax_t kNoHeader = 65536;

// libsndfile shortens chunks that reach beyond the end of the file and says so only in its log: "data : 32000
// (should be 15978)".
struct Shortened {
  std::int64_t promised = 0, found = 0;
};
Shortened find_shortened(std::string_view log) {
  while (!log.empty()) {
    std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    const std::size_t start = line.find_first_not_of(' ');
    const std::size_t colon = line.find(" : "), should = line.find(" (should be ");
    if (start == std::string_view::npos || colon == std::string_view::npos ||
        should == std::string_view::npos)
      continue;
    const std::string_view name = line.substr(start, colon - start);
    if (name != "data" && name != "SSND" && name != "riff" && name != "BODY") continue;
    Shortened sizes;
    const char* end = line.data() + line.size();
    std::from_chars(line.data() + colon + 3, end, sizes.promised);
    std::from_chars(line.data() + should + 12, end, sizes.found);
    if (sizes.promised > sizes.found && sizes.promised < kUnknownSize) return sizes;
  }
  return {};
}

std::shared_mutex opening;

struct RawType {
  std::string_view name;
  int format;
  int bytes;
};
constexpr RawType kRawTypes[] = {
    {"u8", SF_FORMAT_PCM_U8, 1},
    {"s8", SF_FORMAT_PCM_S8, 1},
    {"s16le", SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE, 2},
    {"s16be", SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, 2},
    {"s24le", SF_FORMAT_PCM_24 | SF_ENDIAN_LITTLE, 3},
    {"s24be", SF_FORMAT_PCM_24 | SF_ENDIAN_BIG, 3},
    {"s32le", SF_FORMAT_PCM_32 | SF_ENDIAN_LITTLE, 4},
    {"s32be", SF_FORMAT_PCM_32 | SF_ENDIAN_BIG, 4},
    {"f32le", SF_FORMAT_FLOAT | SF_ENDIAN_LITTLE, 4},
    {"f32be", SF_FORMAT_FLOAT | SF_ENDIAN_BIG, 4},
    {"f64le", SF_FORMAT_DOUBLE | SF_ENDIAN_LITTLE, 8},
    {"f64be", SF_FORMAT_DOUBLE | SF_ENDIAN_BIG, 8},
    {"ulaw", SF_FORMAT_ULAW, 1},
    {"alaw", SF_FORMAT_ALAW, 1},
};

// Samples of all channels that are read from the file at a time.
constexpr std::int64_t kPieceValues = 8192;

// Manifests round times: a piece may exceed its recording by this much.
constexpr double kSlack = 0.05;

}  // namespace

const NodeType WavSource::type = {
    .name = "wav",
    .help = "Reads a recording: WAV, FLAC, OGG, AIFF and others.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32 in [-1, 1), the file's rate and channels"},
    .parameters = kParameters,
    .make = make_node<WavSource>,
};

Status WavSource::open(SF_INFO& info) noexcept {
  std::error_code error;
  if (!std::filesystem::exists(name_, error))
    return Status(Code::not_found) << name_ << ": there is no such file";
  if (std::filesystem::is_directory(name_, error))
    return Status(Code::invalid_argument) << name_ << ": is a folder, expected a recording";
  if (raw == "header" && (rate > 0 || channels > 0))
    return Status(Code::invalid_argument)
           << name_ << ": rate and channels are those of bare samples, which raw= describes";
  if (raw != "header") {
    const auto* const known_type = std::find_if(std::begin(kRawTypes), std::end(kRawTypes),
                                                [&](const RawType& known) { return known.name == raw; });
    if (known_type == std::end(kRawTypes) || rate < 1 || channels < 1) {
      return Status(Code::invalid_argument) << name_ << ": raw=" << raw << " rate=" << rate
                                            << " channels=" << channels << ", expected all three of them";
    }
    info.format = SF_FORMAT_RAW | known_type->format;
    info.samplerate = static_cast<int>(rate);
    info.channels = static_cast<int>(channels);
    const std::uintmax_t bytes = std::filesystem::file_size(name_, error),
                         frame = static_cast<std::uintmax_t>(known_type->bytes * channels);
    if (!error && bytes % frame != 0 && truncated != "accept") {
      return Status(Code::invalid_data)
             << name_ << ": " << bytes << " bytes, expected a multiple of the " << frame
             << " bytes of a sample of all channels (truncated=accept reads whole ones)";
    }
  }
  const SF_INFO given = info;
  {
    const std::shared_lock lock(opening);
    file_ = input_.open(name_, info);
  }
  if (input_.error() != 0) return cannot_be_read();
  if (file_ == nullptr) {
    // The library keeps the reason in a global variable: open the file again under a lock.
    const std::unique_lock lock(opening);
    info = given;
    file_ = input_.open(name_, info);
    if (input_.error() != 0) return cannot_be_read();
    if (file_ == nullptr) {
      std::string_view reason = sf_strerror(nullptr);
      while (!reason.empty() && (reason.back() == '.' || reason.back() == '\n')) reason.remove_suffix(1);
      return Status(Code::invalid_data) << name_ << ": not a recording that can be read: " << reason;
    }
  }
  // The memory of a graph grows with them, and a header can say anything.
  const bool known = info.frames != SF_COUNT_MAX;  // its mark of "unknown"
  if (info.channels < 1 || info.channels > limits::kRecordingChannels || info.samplerate < 1 ||
      info.samplerate > limits::kRecordingRate || info.frames < 0 ||
      (known && info.frames > limits::kRecordingFrames)) {
    Status status(Code::unsupported);
    status << name_ << ": " << info.channels << " channels at " << info.samplerate << " Hz";
    if (known) status << ", " << info.frames << " samples";
    return status << ", expected 1 to " << limits::kRecordingChannels << " channels at 1 to "
                  << limits::kRecordingRate << " Hz, at most " << limits::kRecordingFrames << " samples";
  }
  return {};
}

Status WavSource::cannot_be_read() const noexcept {
  return Status(Code::io_error) << name_ << ": cannot be read: " << std::strerror(input_.error());
}

// Seeks to the start of the piece and finds its end.
Status WavSource::seek(const SF_INFO& info) noexcept {
  if (offset <= 0 && duration <= 0) return {};
  const std::int64_t first = std::llround(offset * info.samplerate),
                     frames = std::llround(duration * info.samplerate);
  if (info.frames == SF_COUNT_MAX || info.seekable == 0)
    return Status(Code::unsupported) << name_ << ": pieces cannot be read, its length is not known";
  const std::int64_t slack = std::llround(kSlack * info.samplerate);
  if (first >= info.frames || (frames > 0 && first + frames > info.frames + slack)) {
    return Status(Code::invalid_data)
           << name_ << ": the piece is samples " << first << " to "
           << (frames > 0 ? first + frames : info.frames) << ", the recording has " << info.frames;
  }
  if (first > 0 && sf_seek(file_, first, SEEK_SET) != first)
    return Status(Code::invalid_data)
           << name_ << ": sample " << first << " cannot be found: " << sf_strerror(file_);
  position_ = first;
  if (frames > 0) end_ = std::min(first + frames, static_cast<std::int64_t>(info.frames));
  return {};
}

Status WavSource::prepare(NodeContext& context) noexcept {
  name_ = path;
  std::error_code error;
  SF_INFO info{};
  RUNNEL_TRY(open(info));
  channels_ = info.channels;
  const bool unknown = info.frames == SF_COUNT_MAX;
  promised_ = unknown ? -1 : info.frames;
  switch (info.format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_S8:
    case SF_FORMAT_PCM_U8:
    case SF_FORMAT_PCM_16:
    case SF_FORMAT_PCM_24:
    case SF_FORMAT_PCM_32:
    case SF_FORMAT_FLOAT:
    case SF_FORMAT_DOUBLE:
    case SF_FORMAT_ULAW:
    case SF_FORMAT_ALAW:
      finds_samples_ = info.seekable != 0;
      break;
    default:
      break;
  }
  silence_ = static_cast<std::int64_t>(std::llround(tail * info.samplerate));
  piece_ = std::max<std::int64_t>(kPieceValues / channels_, 1);
  const auto values = static_cast<std::size_t>(piece_) * static_cast<std::size_t>(channels_);
  if ((info.format & SF_FORMAT_SUBMASK) == SF_FORMAT_PCM_16)
    words_ = context.memory.array<std::int16_t>(values);
  else
    floats_ = context.memory.array<float>(values);
  if (words_ == nullptr && floats_ == nullptr) return out_of_memory("the samples of a piece");

  RUNNEL_TRY(seek(info));
  if (input_.error() != 0) return cannot_be_read();
  if (truncated != "accept") {
    char log[16384] = {};
    sf_command(file_, SFC_GET_LOG_INFO, log, sizeof log);
    if (const Shortened sizes = find_shortened(log); sizes.promised > 0) {
      return Status(Code::invalid_data)
             << name_ << ": the header promises " << sizes.promised << " bytes, the file has " << sizes.found
             << " (truncated=accept reads them)";
    }
    if (unknown && (info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_OGG) {
      return Status(Code::invalid_data)
             << name_
             << ": the file ends in the middle of the recording (truncated=accept reads what is there)";
    }
    const std::uintmax_t bytes = std::filesystem::file_size(name_, error);
    if ((info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_WAV && !error && bytes < kWavHeader) {
      return Status(Code::invalid_data) << name_ << ": " << bytes << " bytes, the file ends in its header";
    }
    if (info.frames == 0 && !error && bytes > kNoHeader) {
      return Status(Code::invalid_data)
             << name_ << ": the header promises no samples, but the file has " << bytes
             << " bytes: it was probably never closed (truncated=accept reads it as empty)";
    }
  }
  Format& format = context.output;
  format.kind = Kind::audio;
  format.dtype = DType::float32;
  format.channels = info.channels;
  format.clock.sample_rate = info.samplerate;
  format.source = path;
  context.max_output = context.max_input;
  return {};
}

// 16-bit samples are read with one system call and converted here, in half the time of the library. Fewer
// than `frames` only at the end of the file, or where it cannot be read any further.
std::int64_t WavSource::read_samples(float* to, std::int64_t frames) noexcept {
  std::int64_t done = 0;
  while (done < frames) {
    if (left_ == 0) {
      if (error_ != SF_ERR_NO_ERROR) break;
      // Not beyond the end of the piece of a recording: what follows need not be readable.
      const std::int64_t most = end_ < 0 ? piece_ : std::min(piece_, end_ - position_ - done);
      left_ = words_ != nullptr ? sf_readf_short(file_, words_, most) : sf_readf_float(file_, floats_, most);
      left_ = std::max<std::int64_t>(left_, 0);
      error_ = input_.error() != 0 ? SF_ERR_SYSTEM : sf_error(file_);
      at_ = 0;
      if (left_ == 0) break;
    }
    const std::int64_t count = std::min(left_, frames - done);
    const std::span<float> part(to + done * channels_, static_cast<std::size_t>(count * channels_));
    if (words_ != nullptr)
      to_float(SampleCode::s16, reinterpret_cast<const std::byte*>(words_ + at_ * channels_), part);
    else
      std::copy_n(floats_ + at_ * channels_, part.size(), part.begin());
    at_ += count;
    left_ -= count;
    done += count;
  }
  return done;
}

Status WavSource::check_finite(float* samples, std::int64_t frames) noexcept {
  const std::int64_t count = frames * channels_;
  // Without a branch per sample, so that compilers vectorize it.
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i)
    found |= (std::bit_cast<std::uint32_t>(samples[i]) & kExponent) == kExponent ? 1U : 0U;
  if (found == 0) return {};
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(samples[i])) continue;
    if (nan != "zero") {
      return Status(Code::invalid_data)
             << name_ << ": sample " << position_ + i / channels_ << " of channel " << i % channels_ << " is "
             << (std::isnan(samples[i]) ? "not a number" : "infinite")
             << " (nan=zero replaces such samples by 0)";
    }
    samples[i] = 0;
    ++replaced_;
  }
  return {};
}

Status WavSource::check_complete() noexcept {
  missing_ = std::max<std::int64_t>(promised_ - position_, 0);
  if (truncated == "accept") return {};
  if (missing_ == 0 && position_ == 0)
    return Status(Code::invalid_data) << name_ << ": has no samples (truncated=accept reads it as empty)";
  if (missing_ == 0) return {};
  return Status(Code::invalid_data) << name_ << ": the header promises " << promised_
                                    << " samples, the file ends after " << position_
                                    << " (truncated=accept reads them)";
}

Status WavSource::process(const Block&, Output& out) noexcept {
  if (!read_) RUNNEL_TRY(read(out));
  if (!read_) return {};
  const std::int64_t zeros = std::min(silence_, out.capacity - out.count);
  std::fill_n(out.as<float>() + out.count * channels_, zeros * channels_, 0.0F);
  silence_ -= zeros;
  out.count += zeros;
  out.end = silence_ == 0;
  return {};
}

Status WavSource::read(Output& out) noexcept {
  // A header may announce fewer samples than the file has; then the header counts, as for other readers of
  // such files.
  const std::int64_t wanted = end_ < 0 ? out.capacity : std::min(out.capacity, end_ - position_);
  out.count = read_samples(out.as<float>(), wanted);
  // The samples before the place that cannot be read are given first.
  const int error = left_ > 0 ? SF_ERR_NO_ERROR : error_;
  if (error != SF_ERR_NO_ERROR && truncated != "accept") {
    return Status(Code::invalid_data)
           << name_ << ": cannot be read after sample " << position_ + out.count << ": "
           << sf_error_number(error) << " (truncated=accept reads what is before it)";
  }
  if (words_ == nullptr) RUNNEL_TRY(check_finite(out.as<float>(), out.count));
  position_ += out.count;
  if (end_ >= 0 && position_ == end_) {  // an error after the piece does not matter
    read_ = true;
    return {};
  }
  read_ = out.count < wanted || error != SF_ERR_NO_ERROR;
  return read_ ? check_complete() : Status();
}

Text WavSource::note() const noexcept {
  Text text;
  if (missing_ > 0) text << name_ << ": ends " << missing_ << " samples before its header says";
  if (missing_ > 0 && replaced_ > 0) text << "; ";
  if (replaced_ > 0) text << name_ << ": " << replaced_ << " samples were not finite and were replaced by 0";
  return text;
}

}  // namespace runnel::pipeline
