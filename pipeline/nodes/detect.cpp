#include "pipeline/nodes/detect.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/exact_single.h"
#include "kernels/requantize.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Detect::mode>("mode", "stream|wake-word|clip",
                                         "stream: events as they happen; wake-word: the same, as microWakeWord decides; clip: one decision for the whole recording"),
    parameter<&Detect::threshold>("threshold", "", 0, 1, "smoothed posterior at which an event is made"),
    parameter<&Detect::release>("release", "", -1, 1, "smoothed posterior below which the same label may come again; wake-word: posterior below which a frame is quiet; negative: 0.6 of the threshold"),
    parameter<&Detect::smoothing_frames>("smoothing_frames", "frames", 1, 100000, "length of the moving average"),
    parameter<&Detect::refractory_frames>("refractory_frames", "frames", 1, 1000000000, "shortest distance between two events; wake-word: quiet frames in front of an event"),
    parameter<&Detect::warm_up_frames>("warm_up_frames", "frames", 0, 1000000000, "wake-word: quiet frames in front of the first event"),
    text_parameter<&Detect::ignore>("ignore", "", "labels that never make an event in stream mode, with commas between them"),
    text_parameter<&Detect::labels>("labels", "", "names of the classes, with commas between them; empty: those of the model, or numbers"),
    text_parameter<&Detect::activation>("activation", "softmax|none", "softmax: the input is logits; none: it is posteriors already"),
    text_parameter<&Detect::smoothing>("smoothing", "mean|exponential", "of the posteriors: mean of the last smoothing_frames frames, or exponential with that time constant"),
    text_parameter<&Detect::thresholds>("thresholds", "", "thresholds of single labels, e.g. yes:0.9,no:0.7; the others have threshold="),
    text_parameter<&Detect::gate>("gate", "", "label of voice activity: there are events only while it is heard; empty: always"),
    parameter<&Detect::gate_threshold>("gate_threshold", "", 0, 1, "posterior of the gate's label in one frame that opens the gate"),
    parameter<&Detect::gate_hold_frames>("gate_hold_frames", "frames", 0, 1000000000, "how long the gate stays open behind such a frame"),
    parameter<&Detect::endpoint_frames>("endpoint_frames", "frames", 0, 1000000000, "frames below the release that end a word; the event waits for them; 0: it comes at the decision"),
    text_parameter<&Detect::sequence>("sequence", "", "labels that make one event together when they come in this order, with commas between them, e.g. 7,5"),
    parameter<&Detect::sequence_frames>("sequence_frames", "frames", 1, 1000000000, "longest distance between two labels of the sequence"),
};

constexpr std::uint32_t kOne = 1u << 30, kHalf = 1u << 29;

// 0 <= share <= 1 of kOne, rounded up.
std::int64_t level_of(double share) noexcept {
  const double scaled = share * static_cast<double>(kOne);
  const auto level = static_cast<std::int64_t>(scaled);
  return level + (static_cast<double>(level) < scaled ? 1 : 0);
}

// Takes the next piece in front of a comma off the list.
std::string_view next_piece(std::string_view& list) noexcept {
  const std::size_t comma = std::min(list.find(','), list.size());
  const std::string_view piece(list.data(), comma);
  list.remove_prefix(std::min(comma + 1, list.size()));
  return piece;
}

// A decimal number from 0 to 1 of at most nine digits; -1: it is none. (The library's parser would be the largest part of a firmware's detector.)
double share_from(std::string_view text) noexcept {
  constexpr std::size_t kMostDigits = 9;
  std::int64_t digits = 0, scale = 1;
  std::size_t count = 0;
  bool fraction = false;
  for (const char letter : text) {
    if (letter == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (letter < '0' || letter > '9' || ++count > kMostDigits) return -1;
    digits = 10 * digits + (letter - '0');
    if (fraction) scale *= 10;
  }
  return count == 0 || digits > scale ? -1 : static_cast<double>(digits) / static_cast<double>(scale);
}

}  // namespace

const NodeType Detect::type = {
    .name = "detect",
    .help = "Smooths posteriors and decides: makes events out of a classifier's output.",
    .input = {static_cast<Kinds>(Kind::frames), "logits or posteriors, float32 or integers with an exponent"},
    .output = {static_cast<Kinds>(Kind::events), "label, score, span"},
    .parameters = kParameters,
    .make = make_node<Detect>,
};

Status Detect::name_labels(PrepareContext& context) noexcept {
  names_ = context.memory.array<std::string_view>(static_cast<std::size_t>(classes_));
  if (names_ == nullptr) return out_of_memory("the labels");
  if (!labels.empty()) {
    std::int32_t count = 0;
    for (std::string_view rest = labels; !rest.empty(); ++count) {
      const std::string_view piece = next_piece(rest);
      if (count < classes_) names_[count] = piece;
    }
    if (count != classes_) {
      return Status(Code::mismatch) << "labels of " << context.label << " are " << count << ", " << context.input_label << " gives "
                                    << classes_ << " classes";
    }
    return {};
  }
  if (!context.input.labels.empty()) {
    if (context.input.labels.size() != static_cast<std::size_t>(classes_)) {
      return Status(Code::mismatch) << context.input_label << " gives " << classes_ << " classes, but its model names "
                                    << context.input.labels.size() << " labels";
    }
    std::copy(context.input.labels.begin(), context.input.labels.end(), names_);
    return {};
  }
  constexpr std::size_t kDigits = 11;
  char* digits = context.memory.array<char>(static_cast<std::size_t>(classes_) * kDigits);
  if (digits == nullptr) return out_of_memory("the labels");
  for (std::int32_t c = 0; c < classes_; ++c, digits += kDigits) {
    const auto [end, error] = std::to_chars(digits, digits + kDigits, c);
    names_[c] = {digits, error == std::errc() ? static_cast<std::size_t>(end - digits) : 0};
  }
  return {};
}

std::int32_t Detect::class_of(std::string_view name) const noexcept {
  const auto* found = std::find(names_, names_ + classes_, name);
  return found == names_ + classes_ ? -1 : static_cast<std::int32_t>(found - names_);
}

Status Detect::no_such_label(std::string_view parameter, std::string_view name) const noexcept {
  Status status(Code::invalid_argument);
  status << parameter << '=' << name << ": there is no such label; there are";
  for (std::int32_t c = 0; c < classes_; ++c) status << ' ' << names_[c];
  return status;
}

Status Detect::set_thresholds(PrepareContext& context) noexcept {
  const double quiet = release < 0 ? 0.6 * threshold : release;
  if (quiet > threshold) {
    return Status(Code::invalid_argument) << "release is above threshold: it must be at most as high, or the detector would arm itself again at once";
  }
  level_ = {level_of(threshold), level_of(quiet)};
  gate_level_ = level_of(gate_threshold);
  if (thresholds.empty()) return {};
  const double share = threshold > 0 ? quiet / threshold : 0;   // of a label's own threshold that is its release
  levels_ = context.memory.array<Level>(static_cast<std::size_t>(classes_));
  if (levels_ == nullptr) return out_of_memory("the thresholds");
  std::fill(levels_, levels_ + classes_, level_);
  for (std::string_view rest = thresholds; !rest.empty();) {
    const std::string_view piece = next_piece(rest);
    // The last colon: labels may have some.
    const std::size_t colon = piece.rfind(':');
    const std::string_view name(piece.data(), std::min(colon, piece.size()));
    const std::int32_t label = class_of(name);
    if (label < 0) return no_such_label("thresholds", name);
    const double value = colon == std::string_view::npos ? -1 : share_from({piece.data() + colon + 1, piece.size() - colon - 1});
    if (value < 0) return Status(Code::invalid_argument) << "thresholds=" << piece << ": expected LABEL:THRESHOLD with a threshold from 0 to 1, such as 0.85";
    levels_[label] = {level_of(value), level_of(share * value)};
  }
  return {};
}

Status Detect::set_gate() noexcept {
  if (gate.empty()) return {};
  gate_ = class_of(gate);
  return gate_ < 0 ? no_such_label("gate", gate) : Status();
}

Status Detect::set_sequence(PrepareContext& context) noexcept {
  if (sequence.empty()) return {};
  sequence_length_ = 1 + static_cast<std::int32_t>(std::count(sequence.begin(), sequence.end(), ','));
  sequence_ = context.memory.array<std::int32_t>(static_cast<std::size_t>(sequence_length_));
  if (sequence_ == nullptr) return out_of_memory("the sequence");
  std::int32_t length = 0;
  for (std::string_view rest = sequence; !rest.empty(); ++length) {
    const std::string_view name = next_piece(rest);
    const std::int32_t label = class_of(name);
    if (label < 0) return no_such_label("sequence", name);
    if (ignored_[label]) return Status(Code::invalid_argument) << "sequence=" << name << ": this label is ignored";
    sequence_[length] = label;
  }
  if (length < 2 || length != sequence_length_) return Status(Code::invalid_argument) << "sequence=" << sequence << ": expected two labels or more";
  return {};
}

Status Detect::ignore_labels(PrepareContext& context) noexcept {
  ignored_ = context.memory.array<bool>(static_cast<std::size_t>(classes_));
  if (ignored_ == nullptr) return out_of_memory("the ignored labels");
  for (std::string_view rest = ignore; !rest.empty();) {
    const std::string_view piece = next_piece(rest);
    bool found = false;
    for (std::int32_t c = 0; c < classes_; ++c) {
      if (names_[c] != piece) continue;
      ignored_[c] = found = true;
    }
    if (!found && ignore != kUsuallyIgnored) return no_such_label("ignore", piece);
  }
  if (!clip_ && std::all_of(ignored_, ignored_ + classes_, [](bool ignored) { return ignored; })) {
    return Status(Code::invalid_argument) << "ignore=" << ignore << ": no label is left";
  }
  return {};
}

Status Detect::prepare(PrepareContext& context) noexcept {
  const Format& input = context.input;
  dtype_ = input.dtype;
  if (input.codes || (dtype_ != DType::float32 && dtype_ != DType::int8 && dtype_ != DType::int16)) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(input).view() << ", " << context.label
                                  << " wants float32, int8 or int16";
  }
  clip_ = mode == "clip";
  wake_word_ = mode == "wake-word";
  softmax_ = activation == "softmax";
  scale_ = dtype_ == DType::float32 ? 1.0f : kernels::power_of_two(input.exponent);
  classes_ = input.channels;
  frame_bytes_ = input.frame_bytes();
  clock_ = input.clock;
  RUNNEL_TRY(name_labels(context));
  RUNNEL_TRY(ignore_labels(context));
  exponential_ = smoothing == "exponential";
  if (clip_ && (exponential_ || !thresholds.empty() || !gate.empty() || endpoint_frames > 0 || !sequence.empty())) {
    return Status(Code::invalid_argument) << "mode=clip decides once: expected no smoothing=exponential, thresholds, gate, endpoint_frames or sequence";
  }
  if (wake_word_ && endpoint_frames > 0) {
    return Status(Code::invalid_argument) << "endpoint_frames=" << endpoint_frames << ": expected 0 in mode=wake-word, whose means start anew at the decision";
  }
  weight_ = exponential_ ? 1 : smoothing_frames;
  RUNNEL_TRY(set_thresholds(context));
  RUNNEL_TRY(set_gate());
  RUNNEL_TRY(set_sequence(context));
  const auto classes = static_cast<std::size_t>(classes_);
  values_ = context.memory.array<float>(classes);
  if (values_ == nullptr) return out_of_memory("the posteriors");
  if (clip_) {
    totals_ = context.memory.array<double>(classes);
    if (totals_ == nullptr) return out_of_memory("the sums of the logits");
  } else {
    history_ = context.memory.array<std::uint32_t>(classes * static_cast<std::size_t>(smoothing_frames));
    sums_ = context.memory.array<std::int64_t>(classes);
    if (history_ == nullptr || sums_ == nullptr) return out_of_memory("the moving average");
  }
  context.output.kind = Kind::events;
  context.output.dtype = DType::none;
  context.output.channels = 0;
  context.output.exponent = 0;
  context.output.labels = {names_, classes};
  // Events keep their distance; one more for the first frame.
  // An event that waits for its end comes with the next one at the latest.
  context.max_output = clip_ ? 1 : context.max_input / refractory_frames + (endpoint_frames > 0 ? 2 : 1);
  return {};
}

std::int64_t Detect::reset(std::int64_t first) noexcept {
  first_ = first;
  seen_ = 0;
  armed_ = true;
  quiet_ = 0;
  wanted_quiet_ = warm_up_frames;
  last_label_ = -1;
  open_until_ = std::numeric_limits<std::int64_t>::min();
  open_label_ = -1;
  heard_ = 0;
  if (clip_) std::fill(totals_, totals_ + classes_, 0.0);
  else forget_means();
  return 0;   // events have no index of their own
}

void Detect::forget_means() noexcept {
  std::fill(history_, history_ + smoothing_frames * classes_, 0u);
  std::fill(sums_, sums_ + classes_, std::int64_t{0});
}

void Detect::read(const std::byte* frame) noexcept {
  for (std::int32_t c = 0; c < classes_; ++c) {
    float value = 0;
    if (dtype_ == DType::float32) value = reinterpret_cast<const float*>(frame)[c];
    else if (dtype_ == DType::int8) value = static_cast<float>(reinterpret_cast<const std::int8_t*>(frame)[c]) * scale_;
    else value = static_cast<float>(reinterpret_cast<const std::int16_t*>(frame)[c]) * scale_;
    values_[c] = value;
  }
}

void Detect::to_posteriors() noexcept {
  if (!softmax_) return;
  const float highest = *std::max_element(values_, values_ + classes_);
  float sum = 0;
  for (std::int32_t c = 0; c < classes_; ++c) {
    // Below -80 the exponential is 0 for every purpose here; infinities stay out of it.
    const float distance = values_[c] - highest;
    values_[c] = distance > -80.0f ? exact::exp_single(distance) : 0;
    sum += values_[c];
  }
  for (std::int32_t c = 0; c < classes_; ++c) values_[c] /= sum;
}

std::int64_t Detect::begin_of_event(std::int64_t frame, std::int32_t label) const noexcept {
  const std::int64_t length = std::min(seen_, smoothing_frames);
  std::int64_t best = frame;
  std::uint32_t highest = 0;
  for (std::int64_t t = frame - length + 1; t <= frame; ++t) {
    const std::uint32_t posterior = history_[(t - first_) % smoothing_frames * classes_ + label];
    if (posterior >= kHalf) return t;
    if (posterior > highest) {
      highest = posterior;
      best = t;
    }
  }
  return best;
}

float Detect::smoothed(std::int32_t label) const noexcept {
  return static_cast<float>(sums_[label]) / static_cast<float>(weight_) / static_cast<float>(kOne);
}

std::int32_t Detect::smooth(std::int64_t frame) noexcept {
  std::uint32_t* slot = history_ + (frame - first_) % smoothing_frames * classes_;
  now_ = slot;
  std::int32_t best = -1;
  bool reached = false;                // by the best one so far, its own threshold
  for (std::int32_t c = 0; c < classes_; ++c) {
    // Also right for NaN, which counts as 0.
    const float posterior = values_[c] > 0 ? std::min(values_[c], 1.0f) : 0.0f;
    const auto fixed = static_cast<std::uint32_t>(posterior * static_cast<float>(kOne));
    if (exponential_) sums_[c] += (static_cast<std::int64_t>(fixed) - sums_[c]) / smoothing_frames;
    else sums_[c] += static_cast<std::int64_t>(fixed) - static_cast<std::int64_t>(slot[c]);
    slot[c] = fixed;
    if (ignored_[c]) continue;
    const bool enough = levels_ != nullptr && reaches(c, levels_[c].threshold);
    if (best < 0 || enough > reached || (enough == reached && sums_[c] > sums_[best])) {
      best = c;
      reached = enough;
    }
  }
  return best;
}

bool Detect::gate_is_open(std::int64_t frame) noexcept {
  if (gate_ < 0) return true;
  if (now_[gate_] >= gate_level_) open_until_ = frame + gate_hold_frames + 1;
  return frame < open_until_;
}

bool Detect::wakes(std::int32_t best) noexcept {
  bool quiet = true;
  for (std::int32_t c = 0; c < classes_; ++c) quiet = quiet && (ignored_[c] || now_[c] < release_of(c));
  if (quiet && quiet_ < wanted_quiet_) ++quiet_;
  if (!reaches(best, threshold_of(best)) || !gate_open_ || quiet_ < wanted_quiet_) return false;
  quiet_ = 0;
  wanted_quiet_ = refractory_frames;
  return true;
}

bool Detect::rises(std::int64_t frame, std::int32_t best) noexcept {
  if (!reaches(best, release_of(best))) armed_ = true;
  const bool ready = last_label_ < 0 || frame - last_ >= refractory_frames;
  if (!reaches(best, threshold_of(best)) || !gate_open_ || !ready || (!armed_ && best == last_label_)) return false;
  armed_ = false;
  last_ = frame;
  last_label_ = best;
  return true;
}

bool Detect::decide(std::int64_t frame, Event& event) noexcept {
  const std::int32_t best = smooth(frame);
  gate_open_ = gate_is_open(frame);
  decided_ = best;
  if (!(wake_word_ ? wakes(best) : rises(frame, best))) return false;
  event = {names_[best], smoothed(best), from_zero(clock_.first_sample(begin_of_event(frame, best))), clock_.end_sample(frame), frame};
  if (wake_word_) forget_means();
  return true;
}

// The part that ends with `part`. True when that completes the sequence, which is then in `event`.
bool Detect::extend(const Event& part, std::int32_t label, Event& event) noexcept {
  if (sequence_ == nullptr) {
    event = part;
    return true;
  }
  const bool in_time = heard_ > 0 && part.frame - heard_at_ <= sequence_frames;
  if (!in_time || label != sequence_[heard_]) heard_ = 0;
  if (label != sequence_[heard_]) return false;
  if (heard_ == 0) so_far_ = part;
  so_far_.score = std::min(so_far_.score, part.score);
  so_far_.end = part.end;
  so_far_.frame = heard_at_ = part.frame;
  if (++heard_ < sequence_length_) return false;
  heard_ = 0;
  so_far_.label = sequence;
  event = so_far_;
  return true;
}

// From decisions to events: where one ends, and what it is part of. `event` is the decision, when there is one.
bool Detect::follow(std::int64_t frame, bool decided, Event& event) noexcept {
  if (endpoint_frames == 0) return decided && extend(event, decided_, event);
  bool ended = false;
  Event next;
  if (decided) next = event;
  if (open_label_ >= 0) {
    if (!reaches(open_label_, release_of(open_label_))) ++below_;
    else if (!decided) {
      below_ = 0;
      open_.end = clock_.end_sample(frame);
    }
    if (decided || below_ >= endpoint_frames) ended = end_word(event);
  }
  if (decided) {
    open_ = next;
    open_label_ = decided_;
    below_ = 0;
  }
  return ended;
}

bool Detect::end_word(Event& event) noexcept {
  const std::int32_t label = open_label_;
  open_label_ = -1;
  return label >= 0 && extend(open_, label, event);
}

Status Detect::process(const Block& in, Output& out) noexcept {
  const std::byte* frame = in.data;
  Event* events = out.as<Event>();
  for (std::int64_t i = 0; i < in.count; ++i, frame += frame_bytes_) {
    if (seen_ == 0) first_ = in.first + i;
    ++seen_;
    read(frame);
    if (clip_) {
      for (std::int32_t c = 0; c < classes_; ++c) totals_[c] += static_cast<double>(values_[c]);
      continue;
    }
    to_posteriors();
    const bool decided = decide(in.first + i, events[out.count]);
    if (follow(in.first + i, decided, events[out.count])) ++out.count;
  }
  return {};
}

Status Detect::flush(Output& out) noexcept {
  out.end = true;
  if (!clip_) {
    out.count = end_word(out.as<Event>()[0]) ? 1 : 0;
    return {};
  }
  if (seen_ == 0) return {};
  for (std::int32_t c = 0; c < classes_; ++c) values_[c] = static_cast<float>(totals_[c] / static_cast<double>(seen_));
  const auto best = static_cast<std::int32_t>(std::max_element(values_, values_ + classes_) - values_);
  to_posteriors();
  const std::int64_t last = first_ + seen_ - 1;
  out.as<Event>()[0] = {names_[best], values_[best], from_zero(clock_.first_sample(first_)), clock_.end_sample(last), last};
  out.count = 1;
  seen_ = 0;
  return {};
}

}  // namespace runnel::pipeline
