#include "pipeline/nodes/decide/detect.h"

#include <algorithm>
#include <charconv>

#include "kernels/arithmetic/requantize.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Detect::mode>("mode", "stream|wake-word|clip",
                                  "stream: events as they happen; wake-word: the same, by microWakeWord's "
                                  "rule; clip: one decision for the whole recording"),
    parameter<&Detect::threshold>("threshold", "", 0, 1, "smoothed posterior at which an event is made"),
    parameter<&Detect::release>("release", "", -1, 1,
                                "smoothed posterior below which the same label may come again; wake-word: "
                                "posterior below which a frame is quiet; negative: 0.6 of the threshold"),
    parameter<&Detect::smoothing_frames>("smoothing_frames", "frames", 1, 100000,
                                         "length of the moving average"),
    parameter<&Detect::refractory_frames>(
        "refractory_frames", "frames", 1, 1000000000,
        "least frames between two events; wake-word: quiet frames before an event"),
    parameter<&Detect::warm_up_frames>("warm_up_frames", "frames", 0, 1000000000,
                                       "wake-word: quiet frames before the first event"),
    text_parameter<&Detect::ignore>("ignore", "",
                                    "labels that never make an event in stream mode, separated by commas"),
    text_parameter<&Detect::labels>(
        "labels", "", "names of the classes, separated by commas; empty: those of the model, or numbers"),
    text_parameter<&Detect::activation>("activation", "softmax|none",
                                        "softmax: the input is logits; none: the input is posteriors"),
    text_parameter<&Detect::smoothing>("smoothing", "mean|exponential",
                                       "of the posteriors: mean of the last smoothing_frames frames, or "
                                       "exponential with that time constant"),
    text_parameter<&Detect::thresholds>(
        "thresholds", "", "thresholds of single labels, e.g. yes:0.9,no:0.7; the others use threshold="),
    text_parameter<&Detect::gate>(
        "gate", "", "label of voice activity: events are made only while it is active; empty: always"),
    parameter<&Detect::gate_threshold>("gate_threshold", "", 0, 1,
                                       "posterior of the gate's label in one frame that opens the gate"),
    parameter<&Detect::gate_hold_frames>("gate_hold_frames", "frames", 0, 1000000000,
                                         "how long the gate stays open after such a frame"),
    text_parameter<&Detect::veto>(
        "veto", "",
        "label that speaks against an event when it was high before the frames that "
        "are smoothed, such as unknown; empty: none"),
    parameter<&Detect::veto_threshold>("veto_threshold", "", 0, 1,
                                       "mean posterior of the veto's label from which no event is made"),
    parameter<&Detect::veto_frames>("veto_frames", "frames", 1, 100000,
                                    "frames of that mean: those before the last smoothing_frames"),
    parameter<&Detect::endpoint_frames>(
        "endpoint_frames", "frames", 0, 1000000000,
        "frames below the release that end a word; the event waits for them; 0: it comes at the decision"),
    text_parameter<&Detect::sequence>(
        "sequence", "",
        "labels that together make one event when they come in this order, separated by commas, e.g. 7,5"),
    parameter<&Detect::sequence_frames>("sequence_frames", "frames", 1, 1000000000,
                                        "most frames between two labels of the sequence"),
};

constexpr std::uint32_t kOne = 1u << 30;

// 0 <= share <= 1 of kOne, rounded up.
std::int64_t fixed(double share) noexcept {
  const double scaled = share * static_cast<double>(kOne);
  const auto level = static_cast<std::int64_t>(scaled);
  return level + (static_cast<double>(level) < scaled ? 1 : 0);
}

// Removes and returns the next item of a list with commas.
std::string_view next_piece(std::string_view& list) noexcept {
  const std::size_t comma = std::min(list.find(','), list.size());
  const std::string_view piece(list.data(), comma);
  list.remove_prefix(std::min(comma + 1, list.size()));
  return piece;
}

// A decimal number from 0 to 1 of at most nine digits; -1: not such a number. (The library's parser would be
// the largest part of the detector in firmware.)
double share_from(std::string_view text) noexcept {
  constexpr std::size_t kMaxDigits = 9;
  std::int64_t digits = 0, scale = 1;
  std::size_t count = 0;
  bool fraction = false;
  for (const char letter : text) {
    if (letter == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (letter < '0' || letter > '9' || ++count > kMaxDigits) return -1;
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

Status Detect::name_labels(NodeContext& context) noexcept {
  auto* const names = context.memory.array<std::string_view>(static_cast<std::size_t>(facts_.classes));
  if (names == nullptr) return out_of_memory("the labels");
  facts_.names = names;
  if (!labels.empty()) {
    std::int32_t count = 0;
    for (std::string_view rest = labels; !rest.empty(); ++count) {
      const std::string_view piece = next_piece(rest);
      if (count < facts_.classes) names[count] = piece;
    }
    if (count != facts_.classes) {
      return Status(Code::mismatch) << "labels of " << context.label << " are " << count << ", "
                                    << context.input_label << " gives " << facts_.classes << " classes";
    }
    return {};
  }
  if (!context.input.labels.empty()) {
    if (context.input.labels.size() != static_cast<std::size_t>(facts_.classes)) {
      return Status(Code::mismatch) << context.input_label << " gives " << facts_.classes
                                    << " classes, but its model names " << context.input.labels.size()
                                    << " labels";
    }
    std::copy(context.input.labels.begin(), context.input.labels.end(), names);
    return {};
  }
  constexpr std::size_t kDigits = 11;
  char* digits = context.memory.array<char>(static_cast<std::size_t>(facts_.classes) * kDigits);
  if (digits == nullptr) return out_of_memory("the labels");
  for (std::int32_t c = 0; c < facts_.classes; ++c, digits += kDigits) {
    const auto [end, error] = std::to_chars(digits, digits + kDigits, c);
    names[c] = {digits, error == std::errc() ? static_cast<std::size_t>(end - digits) : 0};
  }
  return {};
}

std::int32_t Detect::class_of(std::string_view name) const noexcept {
  const auto* found = std::find(facts_.names, facts_.names + facts_.classes, name);
  return found == facts_.names + facts_.classes ? -1 : static_cast<std::int32_t>(found - facts_.names);
}

Status Detect::no_such_label(std::string_view parameter, std::string_view name) const noexcept {
  Status status(Code::invalid_argument);
  status << parameter << '=' << name << ": there is no such label; there are";
  for (std::int32_t c = 0; c < facts_.classes; ++c) status << ' ' << facts_.names[c];
  return status;
}

Status Detect::set_thresholds(NodeContext& context) noexcept {
  const double quiet = release < 0 ? 0.6 * threshold : release;
  if (quiet > threshold) {
    return Status(Code::invalid_argument) << "release is above threshold: it must be at most as high, or the "
                                             "detector would arm itself again at once";
  }
  facts_.level = {fixed(threshold), fixed(quiet)};
  facts_.gate_level = fixed(gate_threshold);
  if (thresholds.empty()) return {};
  const double share =
      threshold > 0 ? quiet / threshold : 0;  // release as a fraction of a label's own threshold
  auto* const levels = context.memory.array<DetectorLevel>(static_cast<std::size_t>(facts_.classes));
  if (levels == nullptr) return out_of_memory("the thresholds");
  facts_.levels = levels;
  std::fill(levels, levels + facts_.classes, facts_.level);
  for (std::string_view rest = thresholds; !rest.empty();) {
    const std::string_view piece = next_piece(rest);
    // The last colon: labels may contain colons.
    const std::size_t colon = piece.rfind(':');
    const std::string_view name(piece.data(), std::min(colon, piece.size()));
    const std::int32_t label = class_of(name);
    if (label < 0) return no_such_label("thresholds", name);
    const double value = colon == std::string_view::npos
                             ? -1
                             : share_from({piece.data() + colon + 1, piece.size() - colon - 1});
    if (value < 0)
      return Status(Code::invalid_argument)
             << "thresholds=" << piece
             << ": expected LABEL:THRESHOLD with a threshold from 0 to 1, such as 0.85";
    levels[label] = {fixed(value), fixed(share * value)};
  }
  return {};
}

Status Detect::set_gate() noexcept {
  if (gate.empty()) return {};
  facts_.gate = class_of(gate);
  return facts_.gate < 0 ? no_such_label("gate", gate) : Status();
}

Status Detect::set_veto() noexcept {
  if (veto.empty()) return {};
  facts_.veto = class_of(veto);
  facts_.veto_level = fixed(veto_threshold);
  facts_.veto_frames = veto_frames;
  return facts_.veto < 0 ? no_such_label("veto", veto) : Status();
}

Status Detect::set_sequence(NodeContext& context) noexcept {
  if (sequence.empty()) return {};
  facts_.sequence_length = 1 + static_cast<std::int32_t>(std::count(sequence.begin(), sequence.end(), ','));
  auto* const parts = context.memory.array<std::int32_t>(static_cast<std::size_t>(facts_.sequence_length));
  if (parts == nullptr) return out_of_memory("the sequence");
  facts_.sequence = parts;
  std::int32_t length = 0;
  for (std::string_view rest = sequence; !rest.empty(); ++length) {
    const std::string_view name = next_piece(rest);
    const std::int32_t label = class_of(name);
    if (label < 0) return no_such_label("sequence", name);
    if (facts_.ignored[label])
      return Status(Code::invalid_argument) << "sequence=" << name << ": this label is ignored";
    parts[length] = label;
  }
  if (length < 2 || length != facts_.sequence_length)
    return Status(Code::invalid_argument) << "sequence=" << sequence << ": expected two labels or more";
  return {};
}

Status Detect::ignore_labels(NodeContext& context) noexcept {
  auto* const ignored = context.memory.array<bool>(static_cast<std::size_t>(facts_.classes));
  if (ignored == nullptr) return out_of_memory("the ignored labels");
  facts_.ignored = ignored;
  for (std::string_view rest = ignore; !rest.empty();) {
    const std::string_view piece = next_piece(rest);
    bool found = false;
    for (std::int32_t c = 0; c < facts_.classes; ++c) {
      if (facts_.names[c] != piece) continue;
      ignored[c] = found = true;
    }
    if (!found && ignore != kUsuallyIgnored) return no_such_label("ignore", piece);
  }
  if (!facts_.clip && std::all_of(ignored, ignored + facts_.classes, [](bool one) { return one; })) {
    return Status(Code::invalid_argument) << "ignore=" << ignore << ": no label is left";
  }
  return {};
}

Status Detect::prepare(NodeContext& context) noexcept {
  const Format& input = context.input;
  facts_ = {};
  facts_.dtype = input.dtype;
  facts_.exponent = input.exponent;
  if (input.codes ||
      (facts_.dtype != DType::float32 && facts_.dtype != DType::int8 && facts_.dtype != DType::int16)) {
    return Status(Code::mismatch) << context.input_label << " gives " << describe(input).view() << ", "
                                  << context.label << " wants float32, int8 or int16";
  }
  facts_.clip = mode == "clip";
  facts_.wake_word = mode == "wake-word";
  facts_.softmax = activation == "softmax";
  facts_.scale = facts_.dtype == DType::float32 ? 1.0f : kernels::power_of_two(input.exponent);
  facts_.classes = input.channels;
  facts_.smoothing_frames = smoothing_frames;
  facts_.refractory_frames = refractory_frames;
  facts_.warm_up_frames = warm_up_frames;
  facts_.gate_hold_frames = gate_hold_frames;
  facts_.endpoint_frames = endpoint_frames;
  facts_.sequence_frames = sequence_frames;
  facts_.sequence_name = sequence;
  RUNNEL_TRY(name_labels(context));
  RUNNEL_TRY(ignore_labels(context));
  facts_.exponential = smoothing == "exponential";
  if (facts_.clip && (facts_.exponential || !thresholds.empty() || !gate.empty() || !veto.empty() ||
                      endpoint_frames > 0 || !sequence.empty())) {
    return Status(Code::invalid_argument) << "mode=clip decides once: expected no smoothing=exponential, "
                                             "thresholds, gate, veto, endpoint_frames or sequence";
  }
  if (facts_.wake_word && endpoint_frames > 0) {
    return Status(Code::invalid_argument)
           << "endpoint_frames=" << endpoint_frames
           << ": expected 0 in mode=wake-word, whose means restart at the decision";
  }
  RUNNEL_TRY(set_thresholds(context));
  RUNNEL_TRY(set_gate());
  RUNNEL_TRY(set_veto());
  RUNNEL_TRY(set_sequence(context));
  return make_ready(context);
}

}  // namespace runnel::pipeline
