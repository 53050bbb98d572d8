#include "library/outbox.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace runnel::library {
namespace {

void text_state(StateArchive& archive, std::string& text) {
  std::size_t size = text.size();
  archive.count(size, archive.restores() ? archive.left() : size);
  if (!archive.ok()) return;
  text.resize(size);
  archive.values(std::span(text));
}

runnel_type type_of(DType dtype) noexcept { return static_cast<runnel_type>(dtype); }
static_assert(
    static_cast<int>(DType::float32) == RUNNEL_FLOAT32 && static_cast<int>(DType::int8) == RUNNEL_INT8 &&
    static_cast<int>(DType::uint8) == RUNNEL_UINT8 && static_cast<int>(DType::int16) == RUNNEL_INT16 &&
    static_cast<int>(DType::uint16) == RUNNEL_UINT16 && static_cast<int>(DType::int32) == RUNNEL_INT32 &&
    static_cast<int>(DType::int64) == RUNNEL_INT64 && static_cast<int>(DType::boolean) == RUNNEL_BOOLEAN &&
    static_cast<int>(DType::float64) == RUNNEL_FLOAT64);

float scale_of(const pipeline::Format& format) noexcept {
  const bool integers = format.dtype != DType::float32 && format.dtype != DType::float64;
  return integers && !format.codes ? std::ldexp(1.0F, format.exponent) : 1.0F;
}

}  // namespace

Outbox::Outbox(const std::vector<const char*>& labels, std::string_view source, std::int64_t room,
               std::int64_t frames)
    : labels_(labels),
      source_(source),
      room_(static_cast<std::size_t>(room)),
      frames_room_(static_cast<std::size_t>(frames)) {}

std::unique_ptr<Outbox::Heard> Outbox::heard(const pipeline::Event& event) {
  const pipeline::Transcript& transcript = *event.transcript;
  auto out = std::make_unique<Heard>();
  out->event = event;
  out->event.label = {};
  out->event.transcript = nullptr;
  out->text = transcript.text;
  out->segment = transcript.segment;
  out->stable = transcript.stable;
  out->final = transcript.final;
  out->strings.reserve(transcript.words.size() + transcript.tokens.size());
  const auto copy = [&out](std::span<const pipeline::HeardText> from, std::vector<runnel_heard>& to) {
    for (const pipeline::HeardText& one : from) {
      out->strings.emplace_back(one.text);
      to.push_back({out->strings.back().c_str(), one.begin, one.end, one.confidence});
    }
  };
  copy(transcript.words, out->words);
  copy(transcript.tokens, out->tokens);
  return out;
}

void Outbox::add(const pipeline::Event& event) {
  if (event.transcript != nullptr) {
    texts_.push_back(heard(event));
    if (texts_.size() > room_) texts_.pop_front();
    if (pipeline::is_partial(event)) return;
  }
  const auto found = std::find_if(labels_.begin(), labels_.end(),
                                  [&event](const char* label) { return event.label == label; });
  Decision& decision = decisions_.emplace_back();
  decision.event = {nullptr, -1, event.score, event.begin, event.end, event.frame};
  if (found != labels_.end()) {
    decision.event.label = *found;
    decision.event.label_index = static_cast<std::int32_t>(found - labels_.begin());
  } else {
    decision.label = event.label;
  }
  if (event.transcript != nullptr) decision.heard = heard(event);
  make_room();
}

void Outbox::make_room() {
  if (decisions_.size() <= room_) return;
  decisions_.pop_front();
  if (next_ > 0)
    --next_;
  else
    ++dropped_;
}

bool Outbox::fetch(runnel_event& event) {
  if (next_ == decisions_.size()) return false;
  const Decision& decision = decisions_[next_++];
  event = decision.event;
  if (event.label == nullptr) event.label = decision.label.c_str();
  return true;
}

const char* Outbox::line() {
  line_.clear();
  if (next_ == 0) return line_.c_str();
  const Decision& decision = decisions_[next_ - 1];
  pipeline::Event event;
  event.label = decision.event.label != nullptr ? decision.event.label : std::string_view(decision.label);
  event.score = decision.event.score;
  event.begin = decision.event.begin;
  event.end = decision.event.end;
  event.frame = decision.event.frame;
  if (decision.heard == nullptr) {
    line_ = records_.event(event);
    return line_.c_str();
  }
  const auto views = [](const std::vector<runnel_heard>& from) {
    std::vector<pipeline::HeardText> to;
    for (const runnel_heard& one : from) to.push_back({one.text, one.begin, one.end, one.confidence});
    return to;
  };
  const Heard& heard = *decision.heard;
  const std::vector<pipeline::HeardText> words = views(heard.words), tokens = views(heard.tokens);
  pipeline::Transcript transcript;
  transcript.final = heard.final;
  transcript.segment = heard.segment;
  transcript.text = heard.text;
  transcript.words = words;
  transcript.tokens = tokens;
  transcript.stable = heard.stable;
  event.transcript = &transcript;
  line_ = records_.event(event);
  return line_.c_str();
}

bool Outbox::fetch(runnel_text& text) {
  if (texts_.empty()) return false;
  text_ = std::move(texts_.front());
  texts_.pop_front();
  text = {text_->text.c_str(),  text_->final ? 1 : 0, text_->segment,      text_->event.begin,
          text_->event.end,     text_->stable,        text_->words.data(), text_->words.size(),
          text_->tokens.data(), text_->tokens.size()};
  return true;
}

void Outbox::add(runnel_stage stage, const pipeline::Format& format, const pipeline::Block& block) {
  const std::size_t frame_bytes = format.frame_bytes(), count = static_cast<std::size_t>(block.count);
  if (function_ != nullptr) function_(user_, stage, block.data, count, frame_bytes, block.first);
  if (frames_room_ == 0) return;
  Frames& frames = frames_[stage];
  frames.frame_bytes = frame_bytes;
  if (frames.runs.empty() ||
      frames.runs.back().first + static_cast<std::int64_t>(frames.runs.back().count) != block.first)
    frames.runs.push_back(
        {nullptr, 0, block.first, format.channels, type_of(format.dtype), scale_of(format)});
  frames.runs.back().count += count;
  frames.count += count;
  frames.bytes.insert(frames.bytes.end(), block.data, block.data + count * frame_bytes);
  while (frames.count > frames_room_) {
    runnel_frames& oldest = frames.runs.front();
    const std::size_t gone = std::min(frames.count - frames_room_, oldest.count);
    oldest.count -= gone;
    oldest.first += static_cast<std::int64_t>(gone);
    frames.count -= gone;
    frames.taken += gone * frame_bytes;
    if (oldest.count == 0) frames.runs.pop_front();
  }
  frames.compact();
}

// Moves what is left to the start when it is the smaller part.
void Outbox::Frames::compact() {
  if (taken < bytes.size() - taken) return;
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
  taken = 0;
}

bool Outbox::fetch(runnel_stage stage, runnel_frames& out) {
  Frames& frames = frames_[stage];
  if (frames.runs.empty()) return false;
  out = frames.runs.front();
  frames.runs.pop_front();
  frames.count -= out.count;
  const auto from = frames.bytes.begin() + static_cast<std::ptrdiff_t>(frames.taken);
  const std::size_t size = out.count * frames.frame_bytes;
  frames.given.assign(from, from + static_cast<std::ptrdiff_t>(size));
  frames.taken += size;
  frames.compact();
  out.data = frames.given.data();
  return true;
}

void Outbox::forget() {
  decisions_.clear();
  texts_.clear();
  text_.reset();
  for (Frames& frames : frames_) frames = Frames();
  next_ = 0;
  dropped_ = 0;
}

void Outbox::Heard::state(StateArchive& archive) {
  archive.value(event.score);
  archive.value(event.begin);
  archive.value(event.end);
  archive.value(event.frame);
  archive.value(segment);
  archive.value(final);
  text_state(archive, text);
  std::size_t counts[] = {words.size(), tokens.size()};
  // Each of them takes more than one byte.
  for (std::size_t& count : counts) archive.count(count, archive.restores() ? archive.left() : count);
  archive.bounded(stable, 0, static_cast<std::int32_t>(std::min<std::size_t>(counts[0], 1 << 30)));
  if (!archive.ok()) return;
  if (archive.restores()) strings.resize(counts[0] + counts[1]);
  std::size_t next = 0;
  for (std::vector<runnel_heard>* const part : {&words, &tokens}) {
    part->resize(counts[part == &words ? 0 : 1]);
    for (runnel_heard& one : *part) {
      text_state(archive, strings[next]);
      archive.value(one.begin);
      archive.value(one.end);
      archive.value(one.confidence);
      if (!archive.ok()) return;
      one.text = strings[next++].c_str();
    }
  }
}

void Outbox::state_of(StateArchive& archive, Decision& decision) const {
  runnel_event& event = decision.event;
  archive.value(event.score);
  archive.value(event.begin);
  archive.value(event.end);
  archive.value(event.frame);
  archive.bounded(event.label_index, -1, static_cast<std::int32_t>(labels_.size()) - 1);
  if (event.label_index < 0)
    text_state(archive, decision.label);
  else if (archive.ok())
    event.label = labels_[static_cast<std::size_t>(event.label_index)];
  bool has_words = decision.heard != nullptr;
  archive.value(has_words);
  if (!has_words || !archive.ok()) return;
  if (decision.heard == nullptr) decision.heard = std::make_unique<Heard>();
  decision.heard->state(archive);
}

void Outbox::state(StateArchive& archive) {
  if (archive.restores()) forget();
  archive.value(dropped_);
  std::size_t decisions = decisions_.size() - next_, texts = texts_.size();
  archive.count(decisions, archive.restores() ? archive.left() : decisions);
  for (std::size_t i = 0; i < decisions && archive.ok(); ++i)
    state_of(archive, archive.restores() ? decisions_.emplace_back() : decisions_[next_ + i]);
  archive.count(texts, archive.restores() ? archive.left() : texts);
  for (std::size_t i = 0; i < texts && archive.ok(); ++i) {
    if (archive.restores()) texts_.push_back(std::make_unique<Heard>());
    texts_[i]->state(archive);
  }
  if (!archive.restores()) return;
  if (!archive.ok()) return forget();
  // Of a node with more room.
  while (decisions_.size() > room_) make_room();
  while (texts_.size() > room_) texts_.pop_front();
}

}  // namespace runnel::library
