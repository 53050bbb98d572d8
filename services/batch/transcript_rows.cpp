#include "services/batch/transcript_rows.h"

#include <algorithm>
#include <filesystem>

#include "base/host/output_file.h"
#include "pipeline/host/json.h"
#include "pipeline/transcript.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;
using pipeline::json_number;
using pipeline::json_seconds;
using pipeline::json_string;
using pipeline::text_parameter;

// Two lines of a screen (Netflix and BBC have 42 and 37 characters), and how long they stay at most.
constexpr std::size_t kLongestCue = 84;
constexpr std::int64_t kLongestSeconds = 7;

constexpr pipeline::Parameter kParameters[] = {
    text_parameter<&TranscriptRows::to>("to", "srt|vtt|ctm|txt", "what the words become"),
    text_parameter<&TranscriptRows::folder>("folder", "", "where files go"),
};

// Characters of UTF-8.
std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char letter) {
    return (static_cast<unsigned char>(letter) & 0xC0U) != 0x80U;
  }));
}

// 01:02:03,450
std::string clock_text(std::int64_t sample, std::int64_t sample_rate, char point) {
  const std::int64_t all = pipeline::milliseconds(sample, sample_rate);
  const auto digits = [](std::int64_t number, std::size_t width) {
    std::string text = std::to_string(number);
    return std::string(width - std::min(width, text.size()), '0') + text;
  };
  return digits(all / 3600000, 2) + ':' + digits(all / 60000 % 60, 2) + ':' + digits(all / 1000 % 60, 2) +
         point + digits(all % 1000, 3);
}

// What a subtitle may not have: ends of lines, and in WebVTT the start of a tag.
std::string shown(std::string_view word, bool vtt) {
  std::string text;
  for (const char letter : word) {
    if (vtt && letter == '<')
      text += "&lt;";
    else if (vtt && letter == '>')
      text += "&gt;";
    else if (vtt && letter == '&')
      text += "&amp;";
    else
      text += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return text;
}

std::string subtitles(const std::vector<std::vector<SpokenWord>>& utterances, bool vtt,
                      std::int64_t sample_rate) {
  std::string text = vtt ? "WEBVTT\n\n" : "";
  std::int64_t number = 0;
  for (const std::vector<SpokenWord>& words : utterances) {
    for (std::size_t first = 0, next = 0; first < words.size(); first = next) {
      std::string line = shown(words[first].text, vtt);
      std::size_t length = length_of(words[first].text);
      for (next = first + 1; next < words.size(); ++next) {
        length += 1 + length_of(words[next].text);
        if (length > kLongestCue || words[next].end - words[first].begin > kLongestSeconds * sample_rate)
          break;
        line += ' ' + shown(words[next].text, vtt);
      }
      const char point = vtt ? '.' : ',';
      if (!vtt) text += std::to_string(++number) + '\n';
      text += clock_text(words[first].begin, sample_rate, point) + " --> " +
              clock_text(words[next - 1].end, sample_rate, point) + '\n' + line + "\n\n";
    }
  }
  return text;
}

// White space separates the columns of a ctm.
std::string column(std::string_view word) {
  std::string text(word);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char letter) { return letter <= ' '; }, '_');
  return text;
}

}  // namespace

std::string transcript_text(const std::vector<std::vector<SpokenWord>>& utterances, OutputFormat format,
                            std::string_view key, std::int64_t sample_rate) {
  if (format == OutputFormat::srt || format == OutputFormat::vtt)
    return subtitles(utterances, format == OutputFormat::vtt, sample_rate);
  std::string text = format == OutputFormat::txt ? std::string(key) : std::string();
  for (const std::vector<SpokenWord>& words : utterances) {
    for (const SpokenWord& word : words) {
      if (format == OutputFormat::txt)
        text += ' ' + shown(word.text, false);
      else
        text += std::string(key) + " 1 " + json_seconds(word.begin, sample_rate) + ' ' +
                json_seconds(word.end - word.begin, sample_rate) + ' ' + column(word.text) + ' ' +
                json_number(static_cast<double>(word.confidence), 4) + '\n';
    }
  }
  return format == OutputFormat::txt ? text + '\n' : text;
}

const pipeline::NodeType TranscriptRows::type = {
    .name = "transcript_rows",
    .help = "Gives what was heard as subtitles, words or text.",
    .input = {static_cast<pipeline::Kinds>(pipeline::Kind::events), "events"},
    .output = {},
    .parameters = kParameters,
    .make = pipeline::make_node<TranscriptRows>,
};

Status TranscriptRows::prepare(pipeline::NodeContext& context) noexcept {
  if (!parse_format(to, format_) || !is_transcript(format_))
    return Status(Code::invalid_argument) << "to=" << to << ": expected srt, vtt, ctm or txt";
  sample_rate_ = context.input.clock.sample_rate;
  stop_ = context.stop;
  return {};
}

Status TranscriptRows::begin(const Recording& recording) {
  recording_ = &recording;
  utterances_.clear();
  text_.clear();
  if (folder.empty()) return {};
  const fs::path path = fs::path(folder) / (recording.key() + extension_of(format_));
  file_name_ = (fs::path(folder).filename() / (recording.key() + extension_of(format_))).string();
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    return Status(Code::io_error) << path.parent_path().string()
                                  << ": cannot be created: " << error.message();
  return {};
}

Status TranscriptRows::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  for (std::int64_t i = 0; i < in.count; ++i) {
    const pipeline::Event& event = in.as<pipeline::Event>()[i];
    if (pipeline::is_partial(event)) continue;
    std::vector<SpokenWord> words;
    if (event.transcript == nullptr)
      words.push_back({std::string(event.label), event.begin, event.end, event.score});
    if (event.transcript != nullptr)
      for (const pipeline::HeardText& word : event.transcript->words)
        words.push_back({std::string(word.text), word.begin, word.end, word.confidence});
    if (!words.empty()) utterances_.push_back(std::move(words));
  }
  return {};
}

Status TranscriptRows::finish() noexcept {
  text_ = transcript_text(utterances_, format_, recording_->key(), sample_rate_);
  bytes_ = text_.size();
  if (folder.empty()) return {};
  // The file of an incomplete recording is not kept.
  if (stop_ != nullptr && stop_->load(std::memory_order_relaxed))
    return Status(Code::io_error, "interrupted");
  RUNNEL_ASSIGN(OutputFile file,
                OutputFile::create(fs::path(folder) / (recording_->key() + extension_of(format_))));
  RUNNEL_TRY(file.write(text_));
  return file.commit();
}

std::string TranscriptRows::index_line() const {
  std::size_t words = 0;
  for (const auto& utterance : utterances_) words += utterance.size();
  std::string line = "{\"type\":\"transcript\",\"source\":" + json_string(recording_->path) +
                     ",\"key\":" + json_string(recording_->key()) +
                     ",\"utterances\":" + std::to_string(utterances_.size()) +
                     ",\"words\":" + std::to_string(words);
  if (!folder.empty())
    line += ",\"file\":" + json_string(file_name_) + ",\"bytes\":" + std::to_string(bytes_);
  return line + "}";
}

}  // namespace runnel::batch
