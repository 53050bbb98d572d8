#include "pipeline/nodes/host/act/record.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "pipeline/transcript.h"

namespace runnel::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr Parameter kParameters[] = {
    text_parameter<&Record::folder>("folder", "", "folder of the files; it must exist", true),
    parameter<&Record::before>("before", "s", 0, 3600,
                               "sound before an event, as far as the history goes back"),
    parameter<&Record::after>("after", "s", 0, 3600, "sound after an event"),
    text_parameter<&Record::format>("format", "wav|flac", "of the files"),
    text_parameter<&Record::encoding>(
        "encoding", "int16|int24|float32",
        "type of the samples in the files; integers saturate; float32: wav only"),
};

// Part of a file name: characters special to a shell or a file system become '_'.
std::string name_from(std::string_view label) {
  constexpr std::size_t kLongest = 64;
  std::string name(label.substr(0, kLongest));
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char letter) { return letter >= 128 || (std::isalnum(letter) == 0 && letter != '-'); },
      '_');
  return name;
}

fs::path free_path(const fs::path& folder, const std::string& stem, std::string_view extension) {
  for (int number = 1;; ++number) {
    fs::path path = folder / (stem + (number > 1 ? "-" + std::to_string(number) : std::string()) + "." +
                              std::string(extension));
    std::error_code ignored;
    if (!fs::exists(path, ignored) && !fs::exists(OutputFile::partial(path), ignored)) return path;
  }
}

}  // namespace

const NodeType Record::type = {
    .name = "record",
    .help = "Writes the sound around each event to a file; needs an earlier `history`.",
    .input = {static_cast<Kinds>(Kind::events), "events"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Record>,
};

void Record::connect(History& history) {
  history_ = &history;
  history.tell(*this);
}

Status Record::prepare(NodeContext& context) noexcept {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return Status(Code::not_found) << "folder=" << folder << ": there is no such folder";
  if (format == "flac" && encoding == "float32")
    return Status(Code::unsupported)
           << "format=flac encoding=float32: FLAC files hold integers: expected int16 or int24";
  sample_rate_ = context.input.clock.sample_rate;
  return {};
}

Status Record::begin_clip(const Event& event) {
  const Clock& clock = history_->format().clock;
  if (clips_.size() >= kMaxAtOnce) {
    ++left_out_;
    return {};
  }
  // Converts units of the source to samples of the history.
  const double hz = clock.hz(), units = hz / static_cast<double>(sample_rate_);
  const std::int64_t begin = std::llround(static_cast<double>(event.begin) * units - before * hz),
                     end = std::llround(static_cast<double>(event.end) * units + after * hz);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%09.3f",
                static_cast<double>(event.begin) / static_cast<double>(sample_rate_));
  Clip& clip = clips_.emplace_back();
  clip.next = std::max(begin, history_->begin());
  clip.end = end;
  clip.path = free_path(fs::path(folder), std::string(seconds) + "-" + name_from(event.label), format);
  return clip.file.create(clip.path, static_cast<int>(clock.rate()), history_->format().channels, format,
                          encoding);
}

Status Record::write(Clip& clip) {
  const std::int64_t end = std::min(clip.end, history_->end());
  while (clip.next < end) {
    const std::span<const float> samples = history_->piece(clip.next, end);
    const auto frames = static_cast<std::int64_t>(samples.size()) / history_->format().channels;
    RUNNEL_TRY(clip.file.write(samples.data(), frames));
    clip.next += frames;
  }
  return {};
}

Status Record::complete(Clip& clip) {
  RUNNEL_TRY(clip.file.complete());
  if (completed_) completed_(clip.path);
  return {};
}

Status Record::process(const Block& in, Output&) noexcept {
  for (std::int64_t i = 0; i < in.count; ++i) {
    if (!is_partial(in.as<Event>()[i])) RUNNEL_TRY(begin_clip(in.as<Event>()[i]));
  }
  return heard();
}

Status Record::heard() noexcept {
  for (auto clip = clips_.begin(); clip != clips_.end();) {
    RUNNEL_TRY(write(*clip));
    if (clip->next < clip->end) {
      ++clip;
      continue;
    }
    RUNNEL_TRY(complete(*clip));
    clip = clips_.erase(clip);
  }
  return {};
}

Status Record::complete_all() noexcept {
  RUNNEL_TRY(heard());
  for (Clip& clip : clips_) RUNNEL_TRY(complete(clip));
  clips_.clear();
  return {};
}

Text Record::note() const noexcept {
  Text text;
  if (left_out_ > 0)
    text << left_out_ << " events were not recorded: " << kMaxAtOnce << " files were being written already";
  return text;
}

}  // namespace runnel::pipeline
