// Decisions, frame by frame, as detect.h defines them. The settings of a detector are its facts: computed
// while a node is prepared (detect.h), or constants of a program (rom_detect.h), so that the compiler
// drops the code that they rule out.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>

#include "base/exact_single.h"
#include "base/float_of.h"
#include "pipeline/node.h"
#include "pipeline/nodes/decide/deferral.h"

namespace runnel::pipeline {

// Posteriors * 2^30.
struct DetectorLevel {
  std::int64_t threshold = 0, release = 0;
};

struct DetectorFacts {
  bool clip = false, wake_word = false, softmax = true, exponential = false;
  DType dtype = DType::float32;  // of the frames
  std::int32_t exponent = 0;     // of integers
  float scale = 1;               // 2^exponent
  std::int32_t classes = 0;
  std::int64_t smoothing_frames = 1, refractory_frames = 1, warm_up_frames = 0;
  DetectorLevel level;
  const DetectorLevel* levels = nullptr;  // [classes]; nullptr: all are `level`
  std::int32_t gate = -1;                 // class; -1: no gate
  std::int64_t gate_level = 0, gate_hold_frames = 0;
  std::int32_t veto = -1;  // class; -1: no veto
  std::int64_t veto_level = 0, veto_frames = 1;
  std::int64_t endpoint_frames = 0;
  const std::int32_t* sequence = nullptr;  // [sequence_length]: classes; nullptr: no sequence
  std::int32_t sequence_length = 0;
  std::int64_t sequence_frames = 0;
  std::string_view sequence_name;
  const std::string_view* names = nullptr;  // [classes]
  const bool* ignored = nullptr;            // [classes]

  // The number of frames in the sums.
  [[nodiscard]] constexpr std::int64_t weight() const noexcept { return exponential ? 1 : smoothing_frames; }
};

// Self must provide facts(), constant after make_ready(). Defers: Deferral or NoDeferral.
template <class Self, class Defers = NoDeferral>
class Detector : public Node {
 public:
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status flush(Output& out) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept;  // base/state_archive.h

 protected:
  // Allocates and sets the output format; the last part of prepare().
  Status make_ready(NodeContext& context) noexcept;

 private:
  static constexpr std::uint32_t kOne = 1u << 30, kHalf = 1u << 29;

  [[nodiscard]] const DetectorFacts& facts() const noexcept {
    return static_cast<const Self*>(this)->facts();
  }
  void read(const std::byte* frame) noexcept;
  void to_posteriors() noexcept;
  Status prepare_deferral(Memory& memory) noexcept;
  // Whether no event can come of the present frame, whose posteriors are then left for later.
  bool defer(std::int64_t frame) noexcept;
  void evaluate_deferred(std::int64_t frame) noexcept;
  [[nodiscard]] std::uint32_t* slot_of(std::int64_t frame) const noexcept {
    return history_ + (frame - first_) % facts().smoothing_frames * facts().classes;
  }
  // Puts the posteriors of a frame into the history and its sums.
  void add(std::uint32_t* slot) noexcept;
  // The best label.
  std::int32_t smooth(std::int64_t frame) noexcept;
  // Whether a label's smoothed posterior is at least `level`.
  [[nodiscard]] bool reaches(std::int32_t label, std::int64_t level) const noexcept {
    return sums_[label] >= level * facts().weight();
  }
  [[nodiscard]] float smoothed(std::int32_t label) const noexcept;
  bool decide(std::int64_t frame, Event& event) noexcept;
  bool follow(std::int64_t frame, bool decided, Event& event) noexcept;
  bool extend(const Event& part, std::int32_t label, Event& event) noexcept;
  bool end_word(Event& event) noexcept;
  bool gate_is_open(std::int64_t frame) noexcept;
  // Whether the veto's label is too high in the frames before those of the means.
  [[nodiscard]] bool vetoed() const noexcept {
    return facts().veto >= 0 && veto_sum_ >= facts().veto_level * facts().veto_frames;
  }
  bool wakes(std::int32_t best) noexcept;
  bool rises(std::int64_t frame, std::int32_t best) noexcept;
  void forget_means() noexcept;
  [[nodiscard]] std::int64_t begin_of_event(std::int64_t frame, std::int32_t label) const noexcept;
  [[nodiscard]] const DetectorLevel& level_of(std::int32_t label) const noexcept {
    return facts().levels == nullptr ? facts().level : facts().levels[label];
  }
  [[nodiscard]] static std::int64_t from_zero(std::int64_t sample) noexcept {
    return sample < 0 ? 0 : sample;
  }

  std::size_t frame_bytes_ = 0;
  Clock clock_;
  float* values_ = nullptr;             // [classes]: of the present frame: logits, then posteriors
  double* totals_ = nullptr;            // [classes]: clip mode: sums of logits
  std::uint32_t* history_ = nullptr;    // [smoothing_frames][classes]: posteriors * 2^30
  const std::uint32_t* now_ = nullptr;  // [classes]: the present frame in the history
  std::int64_t* sums_ = nullptr;        // [classes]: of the history

  std::int64_t first_ = 0, seen_ = 0;  // first frame since reset, frames since then
  bool armed_ = true;
  std::int64_t quiet_ = 0,
               wanted_quiet_ =
                   0;      // wake-word: quiet frames since the start or the last event; how many are required
  std::int64_t last_ = 0;  // frame of the last event, when last_label_ >= 0
  std::int32_t last_label_ = -1;
  std::int32_t decided_ = -1;  // best label of the present frame
  bool gate_open_ = true;
  std::int64_t open_until_ = 0;       // frame after the last one for which the gate stays open
  std::uint32_t* earlier_ = nullptr;  // [veto_frames]: of the veto's label, before those of the history
  std::int64_t veto_sum_ = 0;         // of `earlier_`
  Event open_;                        // waits for its end
  std::int32_t open_label_ = -1;      // -1: none waits
  std::int64_t below_ = 0;            // consecutive frames in which it was below its release
  Event so_far_;                      // of the sequence
  std::int32_t heard_ = 0;            // labels of the sequence
  std::int64_t heard_at_ = 0;         // frame of the last one
  [[no_unique_address]] Defers deferral_;
};

template <class Self, class Defers>
Status Detector<Self, Defers>::make_ready(NodeContext& context) noexcept {
  const DetectorFacts& f = facts();
  frame_bytes_ = context.input.frame_bytes();
  clock_ = context.input.clock;
  const auto classes = static_cast<std::size_t>(f.classes);
  values_ = context.memory.array<float>(classes);
  if (values_ == nullptr) return out_of_memory("the posteriors");
  if (f.clip) {
    totals_ = context.memory.array<double>(classes);
    if (totals_ == nullptr) return out_of_memory("the sums of the logits");
  } else {
    history_ = context.memory.array<std::uint32_t>(classes * static_cast<std::size_t>(f.smoothing_frames));
    sums_ = context.memory.array<std::int64_t>(classes);
    if (history_ == nullptr || sums_ == nullptr) return out_of_memory("the moving average");
    if (f.veto >= 0) {
      earlier_ = context.memory.array<std::uint32_t>(static_cast<std::size_t>(f.veto_frames));
      if (earlier_ == nullptr) return out_of_memory("the frames of the veto");
    }
    RUNNEL_TRY(prepare_deferral(context.memory));
  }
  context.output.kind = Kind::events;
  context.output.dtype = DType::none;
  context.output.channels = 0;
  context.output.exponent = 0;
  context.output.labels = {f.names, classes};
  // At most one event per refractory period, and one for the first frame. One more: a pending event is given
  // together with the next one at the latest.
  context.max_output = f.clip ? 1 : context.max_input / f.refractory_frames + (f.endpoint_frames > 0 ? 2 : 1);
  return {};
}

template <class Self, class Defers>
std::int64_t Detector<Self, Defers>::reset(std::int64_t first) noexcept {
  first_ = first;
  seen_ = 0;
  armed_ = true;
  quiet_ = 0;
  wanted_quiet_ = facts().warm_up_frames;
  last_label_ = -1;
  open_until_ = std::numeric_limits<std::int64_t>::min();
  open_label_ = -1;
  heard_ = 0;
  if (facts().clip)
    std::fill(totals_, totals_ + facts().classes, 0.0);
  else
    forget_means();
  return 0;  // events have no index of their own
}

template <class Self, class Defers>
void Detector<Self, Defers>::forget_means() noexcept {
  std::fill(history_, history_ + facts().smoothing_frames * facts().classes, 0u);
  std::fill(sums_, sums_ + facts().classes, std::int64_t{0});
  if (facts().veto >= 0) {
    std::fill(earlier_, earlier_ + facts().veto_frames, 0u);
    veto_sum_ = 0;
  }
  if constexpr (Defers::kPossible) deferral_.clear();
}

// Only where a frame matters for nothing but the means: not to a gate, a veto, the end of a word, or quiet
// frames.
template <class Self, class Defers>
Status Detector<Self, Defers>::prepare_deferral(Memory& memory) noexcept {
  if constexpr (Defers::kPossible) {
    const DetectorFacts& f = facts();
    if (!f.softmax || f.wake_word || f.exponential || f.gate >= 0 || f.veto >= 0 || f.endpoint_frames > 0)
      return {};
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::int32_t c = 0; c < f.classes; ++c) {
      if (!f.ignored[c]) least = std::min(least, level_of(c).threshold * f.weight());
    }
    if (!deferral_.prepare(f.classes, f.ignored, f.smoothing_frames, least, memory))
      return out_of_memory("the moving average");
  } else {
    static_cast<void>(memory);
  }
  return {};
}

template <class Self, class Defers>
bool Detector<Self, Defers>::defer(std::int64_t frame) noexcept {
  if constexpr (Defers::kPossible) {
    if (!deferral_.on()) return false;
    const std::int32_t classes = facts().classes;
    const std::int64_t number = frame - first_, slot = number % facts().smoothing_frames;
    std::uint32_t* const place = history_ + slot * classes;
    if (!deferral_.leave(slot)) {
      for (std::int32_t c = 0; c < classes; ++c) sums_[c] -= static_cast<std::int64_t>(place[c]);
    }
    std::int64_t highest = 0;
    // What is left is deferred, or precedes the start: all sums are 0.
    if (deferral_.frames() < std::min(number, facts().smoothing_frames - 1)) {
      for (std::int32_t c = 0; c < classes; ++c)
        highest = std::max(highest, facts().ignored[c] ? 0 : sums_[c]);
    }
    if (armed_ && deferral_.defer(values_, highest, slot)) {
      for (std::int32_t c = 0; c < classes; ++c) place[c] = std::bit_cast<std::uint32_t>(values_[c]);
      return true;
    }
    std::fill(place, place + classes, 0u);
    if (deferral_.frames() > 0) evaluate_deferred(frame);
  } else {
    static_cast<void>(frame);
  }
  return false;
}

// Computes the posteriors of the frames before this one that were deferred.
template <class Self, class Defers>
void Detector<Self, Defers>::evaluate_deferred(std::int64_t frame) noexcept {
  if constexpr (Defers::kPossible) {
    const std::int32_t classes = facts().classes;
    const auto swap_logits = [&](std::uint32_t* with) {
      for (std::int32_t c = 0; c < classes; ++c)
        with[c] = std::bit_cast<std::uint32_t>(std::exchange(values_[c], std::bit_cast<float>(with[c])));
    };
    // The present frame's logits wait in its slot.
    std::uint32_t* const present = slot_of(frame);
    swap_logits(present);
    for (std::int64_t t = frame - deferral_.frames(); t < frame; ++t) {
      std::uint32_t* const slot = slot_of(t);
      swap_logits(slot);
      std::fill(slot, slot + classes, 0u);
      to_posteriors();
      add(slot);
    }
    swap_logits(present);
    std::fill(present, present + classes, 0u);
    deferral_.clear();
  } else {
    static_cast<void>(frame);
  }
}

template <class Self, class Defers>
void Detector<Self, Defers>::read(const std::byte* frame) noexcept {
  const std::int32_t classes = facts().classes;
  float* const values = values_;
  const auto take = [&](const auto* from, float scale) {
    for (std::int32_t c = 0; c < classes; ++c) values[c] = static_cast<float>(from[c]) * scale;
  };
  if (facts().dtype == DType::float32)
    std::copy_n(reinterpret_cast<const float*>(frame), classes, values);
  else if (facts().dtype == DType::int8)
    take(reinterpret_cast<const std::int8_t*>(frame), facts().scale);
  else
    take(reinterpret_cast<const std::int16_t*>(frame), facts().scale);
}

// One loop per operation and no members inside, so that the compiler vectorizes over classes; the sum keeps
// its order.
template <class Self, class Defers>
void Detector<Self, Defers>::to_posteriors() noexcept {
  if (!facts().softmax) return;
  const std::int32_t classes = facts().classes;
  float* const values = values_;
  float highest = values[0];
  for (std::int32_t c = 1; c < classes; ++c) highest = highest < values[c] ? values[c] : highest;
  for (std::int32_t c = 0; c < classes; ++c) {
    // Below -80 the exponential counts as 0; so do infinities and NaN. Compared as integers, because
    // compilers do not vectorize comparisons of floats, which may trap.
    const std::int32_t distance = std::bit_cast<std::int32_t>(values[c] - highest) & 0x7fffffff;
    values[c] =
        exact::exp_single(-std::bit_cast<float>(std::min(distance, std::bit_cast<std::int32_t>(80.0f))));
  }
  float sum = 0;
  for (std::int32_t c = 0; c < classes; ++c) sum += values[c];
  // The highest logit counts as 1 if it is a number; otherwise all posteriors are 0.
  if (sum < 0.5f)
    std::fill(values, values + classes, 0.0f);
  else
    for (std::int32_t c = 0; c < classes; ++c) values[c] /= sum;
}

template <class Self, class Defers>
std::int64_t Detector<Self, Defers>::begin_of_event(std::int64_t frame, std::int32_t label) const noexcept {
  const std::int64_t length = std::min(seen_, facts().smoothing_frames);
  std::int64_t best = frame;
  std::uint32_t highest = 0;
  for (std::int64_t t = frame - length + 1; t <= frame; ++t) {
    const std::uint32_t posterior =
        history_[(t - first_) % facts().smoothing_frames * facts().classes + label];
    if (posterior >= kHalf) return t;
    if (posterior > highest) {
      highest = posterior;
      best = t;
    }
  }
  return best;
}

template <class Self, class Defers>
float Detector<Self, Defers>::smoothed(std::int32_t label) const noexcept {
  return float_of(sums_[label]) / static_cast<float>(facts().weight()) / static_cast<float>(kOne);
}

template <class Self, class Defers>
void Detector<Self, Defers>::add(std::uint32_t* slot) noexcept {
  const std::int32_t classes = facts().classes;
  const float* const values = values_;
  std::int64_t* const sums = sums_;
  // Multiples of 2^-30; negative values and NaN count as 0. Compared as integers again.
  const auto fixed = [&](std::int32_t c) {
    constexpr std::int32_t kInfinity = 0x7f800000;
    const std::int32_t bits = std::bit_cast<std::int32_t>(values[c]);
    const std::int32_t number =
        std::max<std::int32_t>(bits, 0) & (static_cast<std::int32_t>(bits > kInfinity) - 1);
    return static_cast<std::int32_t>(
        std::bit_cast<float>(std::min(number, std::bit_cast<std::int32_t>(1.0f))) * static_cast<float>(kOne));
  };
  if (facts().exponential) {
    const std::int64_t frames = facts().smoothing_frames;
    for (std::int32_t c = 0; c < classes; ++c) {
      const std::int32_t posterior = fixed(c);
      sums[c] += (posterior - sums[c]) / frames;
      slot[c] = static_cast<std::uint32_t>(posterior);
    }
  } else {
    for (std::int32_t c = 0; c < classes; ++c) {
      const std::int32_t posterior = fixed(c);
      sums[c] += posterior - static_cast<std::int32_t>(slot[c]);
      slot[c] = static_cast<std::uint32_t>(posterior);
    }
  }
}

template <class Self, class Defers>
std::int32_t Detector<Self, Defers>::smooth(std::int64_t frame) noexcept {
  const std::int32_t classes = facts().classes;
  std::uint32_t* const slot = slot_of(frame);
  if (facts().veto >= 0) {
    std::uint32_t& oldest = earlier_[(frame - first_) % facts().veto_frames];
    veto_sum_ += static_cast<std::int64_t>(slot[facts().veto]) - static_cast<std::int64_t>(oldest);
    oldest = slot[facts().veto];
  }
  add(slot);
  now_ = slot;
  const std::int64_t* const sums = sums_;
  std::int32_t best = -1;
  bool reached = false;  // the best label so far has reached its own threshold
  const bool* const ignored = facts().ignored;
  const bool by_label = facts().levels != nullptr;
  for (std::int32_t c = 0; c < classes; ++c) {
    if (ignored[c]) continue;
    const bool enough = by_label && reaches(c, facts().levels[c].threshold);
    if (best < 0 || enough > reached || (enough == reached && sums[c] > sums[best])) {
      best = c;
      reached = enough;
    }
  }
  return best;
}

template <class Self, class Defers>
bool Detector<Self, Defers>::gate_is_open(std::int64_t frame) noexcept {
  if (facts().gate < 0) return true;
  if (now_[facts().gate] >= facts().gate_level) open_until_ = frame + facts().gate_hold_frames + 1;
  return frame < open_until_;
}

template <class Self, class Defers>
bool Detector<Self, Defers>::wakes(std::int32_t best) noexcept {
  bool quiet = true;
  for (std::int32_t c = 0; c < facts().classes; ++c)
    quiet = quiet && (facts().ignored[c] || now_[c] < level_of(c).release);
  if (quiet && quiet_ < wanted_quiet_) ++quiet_;
  if (!reaches(best, level_of(best).threshold) || !gate_open_ || vetoed() || quiet_ < wanted_quiet_)
    return false;
  quiet_ = 0;
  wanted_quiet_ = facts().refractory_frames;
  return true;
}

template <class Self, class Defers>
bool Detector<Self, Defers>::rises(std::int64_t frame, std::int32_t best) noexcept {
  if (!reaches(best, level_of(best).release)) armed_ = true;
  const bool ready = last_label_ < 0 || frame - last_ >= facts().refractory_frames;
  if (!reaches(best, level_of(best).threshold) || !gate_open_ || vetoed() || !ready ||
      (!armed_ && best == last_label_))
    return false;
  armed_ = false;
  last_ = frame;
  last_label_ = best;
  return true;
}

template <class Self, class Defers>
bool Detector<Self, Defers>::decide(std::int64_t frame, Event& event) noexcept {
  const std::int32_t best = smooth(frame);
  gate_open_ = gate_is_open(frame);
  decided_ = best;
  if (!(facts().wake_word ? wakes(best) : rises(frame, best))) return false;
  event = {facts().names[best], smoothed(best), from_zero(clock_.first_sample(begin_of_event(frame, best))),
           clock_.end_sample(frame), frame};
  if (facts().wake_word) forget_means();
  return true;
}

// Adds `part` to the sequence. True when it completes the sequence, which `event` then holds.
template <class Self, class Defers>
bool Detector<Self, Defers>::extend(const Event& part, std::int32_t label, Event& event) noexcept {
  if (facts().sequence == nullptr) {
    event = part;
    return true;
  }
  const bool in_time = heard_ > 0 && part.frame - heard_at_ <= facts().sequence_frames;
  if (!in_time || label != facts().sequence[heard_]) heard_ = 0;
  if (label != facts().sequence[heard_]) return false;
  if (heard_ == 0) so_far_ = part;
  so_far_.score = std::min(so_far_.score, part.score);
  so_far_.end = part.end;
  so_far_.frame = heard_at_ = part.frame;
  if (++heard_ < facts().sequence_length) return false;
  heard_ = 0;
  so_far_.label = facts().sequence_name;
  event = so_far_;
  return true;
}

// Turns decisions into events: finds their ends and joins sequences. `event` is the decision, if there is
// one.
template <class Self, class Defers>
bool Detector<Self, Defers>::follow(std::int64_t frame, bool decided, Event& event) noexcept {
  if (facts().endpoint_frames == 0) return decided && extend(event, decided_, event);
  bool ended = false;
  Event next;
  if (decided) next = event;
  if (open_label_ >= 0) {
    if (!reaches(open_label_, level_of(open_label_).release))
      ++below_;
    else if (!decided) {
      below_ = 0;
      open_.end = clock_.end_sample(frame);
    }
    if (decided || below_ >= facts().endpoint_frames) ended = end_word(event);
  }
  if (decided) {
    open_ = next;
    open_label_ = decided_;
    below_ = 0;
  }
  return ended;
}

template <class Self, class Defers>
bool Detector<Self, Defers>::end_word(Event& event) noexcept {
  const std::int32_t label = open_label_;
  open_label_ = -1;
  return label >= 0 && extend(open_, label, event);
}

template <class Self, class Defers>
template <class Archive>
void Detector<Self, Defers>::state(Archive& archive) noexcept {
  const DetectorFacts& f = facts();
  const auto classes = static_cast<std::size_t>(f.classes);
  archive.index(first_);
  archive.index(seen_);
  if (f.clip) return archive.values(std::span(totals_, classes));
  const std::int64_t window = f.smoothing_frames;
  archive.values(std::span(history_, static_cast<std::size_t>(window) * classes));
  archive.all_bounded(std::span(sums_, classes), 0, window * std::int64_t{kOne});
  if constexpr (Defers::kPossible) {
    if (deferral_.on()) deferral_.state(archive, seen_);
  }
  // Sums of posteriors are of 32 bits. Deferred frames, the last ones, have logits: any value.
  std::int64_t deferred = 0;
  if constexpr (Defers::kPossible) deferred = deferral_.frames();
  for (std::int64_t k = 0; archive.ok() && k < window; ++k) {
    const std::int64_t age = (seen_ - 1 - k) % window;  // 0: the last frame
    if ((age < 0 ? age + window : age) < deferred) continue;
    const std::uint32_t* const slot = history_ + k * f.classes;
    archive.expect(std::all_of(slot, slot + classes, [](std::uint32_t one) { return one <= kOne; }),
                   "a posterior");
  }
  archive.value(armed_);
  archive.bounded(wanted_quiet_, 0, std::max(f.warm_up_frames, f.refractory_frames));
  archive.bounded(quiet_, 0, wanted_quiet_);
  archive.bounded(last_label_, -1, f.classes - 1);
  if (last_label_ >= 0) archive.index(last_);
  if (f.gate >= 0) archive.value(open_until_);
  if (f.veto >= 0) {
    const std::span<std::uint32_t> earlier(earlier_, static_cast<std::size_t>(f.veto_frames));
    archive.values(earlier);
    archive.expect(std::all_of(earlier.begin(), earlier.end(), [](std::uint32_t one) { return one <= kOne; }),
                   "a posterior");
    std::int64_t sum = 0;
    for (const std::uint32_t one : earlier) sum += one;
    archive.follows(veto_sum_, sum, "the sum of the veto");
  }
  const auto part = [&archive](Event& event) {
    archive.value(event.score);
    archive.index(event.begin);
    archive.index(event.end);
    archive.index(event.frame);
  };
  if (f.endpoint_frames > 0) {
    archive.bounded(open_label_, -1, f.classes - 1);
    if (open_label_ >= 0) {
      archive.index(below_);
      part(open_);
      if (archive.restores()) open_.label = f.names[open_label_];
    }
  }
  if (f.sequence == nullptr) return;
  archive.bounded(heard_, 0, f.sequence_length - 1);
  if (heard_ == 0) return;
  archive.index(heard_at_);
  part(so_far_);
}

template <class Self, class Defers>
Status Detector<Self, Defers>::process(const Block& in, Output& out) noexcept {
  const std::byte* frame = in.data;
  Event* events = out.as<Event>();
  for (std::int64_t i = 0; i < in.count; ++i, frame += frame_bytes_) {
    if (seen_ == 0) first_ = in.first + i;
    const std::int64_t index = first_ + seen_++;
    read(frame);
    if (facts().clip) {
      for (std::int32_t c = 0; c < facts().classes; ++c) totals_[c] += static_cast<double>(values_[c]);
      continue;
    }
    if (defer(index)) continue;
    to_posteriors();
    const bool decided = decide(index, events[out.count]);
    if (follow(index, decided, events[out.count])) ++out.count;
  }
  return {};
}

template <class Self, class Defers>
Status Detector<Self, Defers>::flush(Output& out) noexcept {
  out.end = true;
  if (!facts().clip) {
    out.count = end_word(out.as<Event>()[0]) ? 1 : 0;
    return {};
  }
  if (seen_ == 0) return {};
  for (std::int32_t c = 0; c < facts().classes; ++c)
    values_[c] = static_cast<float>(totals_[c] / static_cast<double>(seen_));
  const auto best = static_cast<std::int32_t>(std::max_element(values_, values_ + facts().classes) - values_);
  to_posteriors();
  const std::int64_t last = first_ + seen_ - 1;
  out.as<Event>()[0] = {facts().names[best], values_[best], from_zero(clock_.first_sample(first_)),
                        clock_.end_sample(last), last};
  out.count = 1;
  seen_ = 0;
  return {};
}

}  // namespace runnel::pipeline
