#include "decoding/transducer_beam.h"

#include <algorithm>

#include "decoding/saved_state.h"
#include "decoding/token_hash.h"

namespace runnel::decoding {

Status TransducerBeam::prepare(Memory& memory, const TransducerSettings& settings,
                               TransducerModel& model) noexcept {
  settings_ = settings;
  model_ = &model;
  if (settings_.hotwords != nullptr && settings_.hotwords->empty()) settings_.hotwords = nullptr;
  const auto beam = static_cast<std::size_t>(settings_.beam);
  now_ = memory.array<Hypothesis>(beam);
  next_ = memory.array<Hypothesis>(beam);
  said_ = memory.array<float>(2 * beam * static_cast<std::size_t>(settings_.predicted));
  taken_ = memory.array<bool>(2 * beam);
  logits_ = memory.array<float>(beam * static_cast<std::size_t>(settings_.classes));
  extensions_ = memory.array<Extension>(beam);
  stays_ = memory.array<LogProbability>(beam);
  ranks_ = memory.array<LogProbability>(beam);
  order_ = memory.array<std::int32_t>(beam);
  if (now_ == nullptr || next_ == nullptr || said_ == nullptr || taken_ == nullptr || logits_ == nullptr ||
      extensions_ == nullptr || stays_ == nullptr || ranks_ == nullptr || order_ == nullptr ||
      !history_.prepare(memory, settings_.beam, settings_.max_tokens))
    return Status(Code::out_of_memory, "no memory for the hypotheses");
  restart();
  return {};
}

std::span<float> TransducerBeam::said(std::int32_t slot) const noexcept {
  const auto values = static_cast<std::size_t>(settings_.predicted);
  return {said_ + static_cast<std::size_t>(slot) * values, values};
}

// The last tokens of a hypothesis, after those of the utterance before.
void TransducerBeam::last_tokens(const Hypothesis& of, std::span<std::int32_t> to) const noexcept {
  std::size_t at = to.size(), seed = to.size();
  std::int32_t entry = of.before;
  for (std::int32_t left = of.length; left > 0 && at > 0; --left) {
    to[--at] = left == of.length ? of.last.token : history_.token(entry).token;
    if (left < of.length) entry = history_.before(entry);
  }
  while (at > 0) to[--at] = state_.seed[--seed];
}

void TransducerBeam::predict(Hypothesis& hypothesis) noexcept {
  std::int32_t context[kMostContext];
  const std::span<std::int32_t> tokens(context, static_cast<std::size_t>(settings_.context));
  last_tokens(hypothesis, tokens);
  hypothesis.slot = static_cast<std::int32_t>(std::find(taken_, taken_ + 2 * settings_.beam, false) - taken_);
  taken_[hypothesis.slot] = true;
  model_->predict(tokens, said(hypothesis.slot));
}

void TransducerBeam::restart() noexcept {
  state_ = {};
  state_.count = 1;
  std::fill(state_.seed, state_.seed + kMostContext, settings_.blank);
  silent_ = false;
  history_.clear();
  std::fill(taken_, taken_ + 2 * settings_.beam, false);
  now_[0] = {};
  if (settings_.hotwords != nullptr) now_[0].hot.state = settings_.hotwords->start;
  predict(now_[0]);
}

void TransducerBeam::next_utterance(bool keep) noexcept {
  if (!keep) return restart();
  const Hypothesis last = *best_of(true);
  State next;
  next.count = 1;
  last_tokens(last, {next.seed, static_cast<std::size_t>(settings_.context)});
  restart();
  state_ = next;
  std::fill(taken_, taken_ + 2 * settings_.beam, false);
  if (settings_.hotwords != nullptr) {
    now_[0].hot.state = last.hot.state;
    now_[0].hot.lent = settings_.hotwords->states[static_cast<std::size_t>(last.hot.state)].credit;
  }
  predict(now_[0]);
}

void TransducerBeam::collect_garbage() noexcept {
  history_.begin_collection();
  for (std::int32_t i = 0; i < state_.count; ++i) history_.mark(now_[i].before);
  history_.end_collection();
}

// ---- a step

bool TransducerBeam::join_all(std::span<const float> frame) noexcept {
  const auto classes = static_cast<std::size_t>(settings_.classes);
  for (std::int32_t i = 0; i < state_.count; ++i) {
    const std::span<const float> logits = model_->join(frame, said(now_[i].slot));
    std::copy(logits.begin(), logits.end(), logits_ + static_cast<std::size_t>(i) * classes);
    FrameScores scores;
    if (!scores.read(logits, FrameScores::Kind::logits)) return false;
    if (i == 0) silent_ = scores.best() == settings_.blank;
  }
  return true;
}

void TransducerBeam::offer(const Extension& extension) noexcept {
  std::int32_t end = extension_count_;
  if (end == settings_.beam) {
    if (extension.rank <= extensions_[end - 1].rank) return;
    --end;
  }
  std::int32_t at = end;
  for (; at > 0 && extension.rank > extensions_[at - 1].rank; --at) extensions_[at] = extensions_[at - 1];
  extensions_[at] = extension;
  extension_count_ = end + 1;
}

void TransducerBeam::extend(std::int32_t source) noexcept {
  const Hypothesis& from = now_[source];
  const auto classes = static_cast<std::size_t>(settings_.classes);
  FrameScores scores;
  static_cast<void>(scores.read({logits_ + static_cast<std::size_t>(source) * classes, classes},
                                FrameScores::Kind::logits));
  const LogProbability stay = std::max(from.log + scores.log(settings_.blank), kNever);
  stays_[source] = log_add(stays_[source], stay);
  if (from.length >= settings_.max_tokens) return;
  if (settings_.beam == 1 && settings_.hotwords == nullptr) {
    // Greedy: by the values themselves, as integers have more ties.
    const std::int32_t token = scores.best();
    if (token == settings_.blank) return;
    stays_[source] = kNever;
    offer({.log = from.log + scores.log(token),
           .rank = from.log + scores.log(token),
           .source = source,
           .token = token,
           .posterior = scores.posterior(token),
           .hot = {}});
    return;
  }
  for (std::int32_t token = 0; token < settings_.classes; ++token) {
    if (token == settings_.blank) continue;
    const LogProbability log = from.log + scores.log(token);
    // Another hypothesis may have these tokens already.
    std::int32_t same = -1;
    for (std::int32_t i = 0; i < state_.count && same < 0; ++i) {
      const Hypothesis& other = now_[i];
      if (other.length != from.length + 1 || other.last.token != token ||
          other.hash != hash_with(from.hash, token))
        continue;
      const bool equal = from.length == 0
                             ? other.before < 0
                             : other.before >= 0 && history_.token(other.before).token == from.last.token &&
                                   history_.same(history_.before(other.before), from.before);
      if (equal) same = i;
    }
    if (same >= 0) {
      stays_[same] = log_add(stays_[same], std::max(log, kNever));
      continue;
    }
    HotwordScore hot;
    if (settings_.hotwords != nullptr)
      hot = advance(*settings_.hotwords, from.hot, token,
                    settings_.begins_word != nullptr && settings_.begins_word[token]);
    const LogProbability rank = log + hot.total();
    if (extension_count_ == settings_.beam && rank <= extensions_[extension_count_ - 1].rank) continue;
    offer({.log = log,
           .rank = rank,
           .source = source,
           .token = token,
           .posterior = scores.posterior(token),
           .hot = hot});
  }
}

void TransducerBeam::keep_best(std::int32_t index) noexcept {
  for (std::int32_t i = 0; i < state_.count; ++i) {
    ranks_[i] = stays_[i] + now_[i].hot.total();
    std::int32_t at = i;
    for (; at > 0 && ranks_[i] > ranks_[order_[at - 1]]; --at) order_[at] = order_[at - 1];
    order_[at] = i;
  }
  if (history_.free() < settings_.beam) collect_garbage();
  std::fill(taken_, taken_ + 2 * settings_.beam, false);
  for (std::int32_t i = 0; i < state_.count; ++i) taken_[now_[i].slot] = true;
  std::int32_t count = 0, stay = 0, extension = 0;
  LogProbability highest = kNever;
  while (count < settings_.beam && (stay < state_.count || extension < extension_count_)) {
    const bool stays = extension == extension_count_ ||
                       (stay < state_.count && ranks_[order_[stay]] >= extensions_[extension].rank);
    Hypothesis& kept = next_[count++];
    if (stays) {
      kept = now_[order_[stay]];
      kept.log = stays_[order_[stay++]];
    } else {
      const Extension& longer = extensions_[extension++];
      const Hypothesis& from = now_[longer.source];
      kept = {};
      kept.log = longer.log;
      kept.before = from.length == 0 ? -1 : history_.add(from.last, from.before);
      kept.last = {
          .token = longer.token, .word = -1, .first = index, .last = index, .confidence = longer.posterior};
      kept.length = from.length + 1;
      kept.hash = hash_with(from.hash, longer.token);
      kept.slot = -1;
      kept.hot = longer.hot;
    }
    highest = std::max(highest, kept.log);
  }
  // Hypotheses that stay have their slots; the new ones take those of the ones that are gone, or others.
  for (std::int32_t i = 0; i < count; ++i) {
    next_[i].log = std::max(next_[i].log - highest, kNever);
    if (next_[i].slot < 0) predict(next_[i]);
  }
  state_.base += highest;
  state_.count = count;
  std::swap(now_, next_);
}

bool TransducerBeam::step(std::span<const float> frame, std::int32_t index) noexcept {
  if (!join_all(frame)) return false;
  std::fill(stays_, stays_ + state_.count, kNever);
  extension_count_ = 0;
  for (std::int32_t i = 0; i < state_.count; ++i) extend(i);
  keep_best(index);
  return true;
}

// ---- results

const TransducerBeam::Hypothesis* TransducerBeam::best_of(bool final) const noexcept {
  const Hypothesis* best = &now_[0];
  for (std::int32_t i = 1; final && i < state_.count; ++i)
    if (now_[i].log + now_[i].hot.settled() > best->log + best->hot.settled()) best = &now_[i];
  return best;
}

std::size_t TransducerBeam::best(bool final, std::span<HeardToken> to) const noexcept {
  const Hypothesis& from = *best_of(final);
  if (from.length == 0) return 0;
  auto at = static_cast<std::size_t>(from.length);
  to[--at] = from.last;
  for (std::int32_t entry = from.before; entry >= 0; entry = history_.before(entry))
    to[--at] = history_.token(entry);
  return static_cast<std::size_t>(from.length);
}

std::size_t TransducerBeam::settled(std::span<const HeardToken> best) const noexcept {
  std::size_t common = best.size();
  for (std::int32_t i = 1; i < state_.count; ++i) {
    const Hypothesis& other = now_[i];
    common = std::min(common, static_cast<std::size_t>(other.length));
    auto at = static_cast<std::size_t>(other.length);
    const auto compare = [&](std::int32_t token) {
      if (--at < common && best[at].token != token) common = at;
    };
    if (other.length > 0) compare(other.last.token);
    for (std::int32_t entry = other.before; entry >= 0; entry = history_.before(entry))
      compare(history_.token(entry).token);
  }
  return common;
}

std::int64_t TransducerBeam::score(bool final) const noexcept {
  const Hypothesis& of = *best_of(final);
  return state_.base + of.log + (final ? of.hot.settled() : of.hot.total());
}

// ---- saved state

// What the decoder says follows from the tokens.
void TransducerBeam::predict_all() noexcept {
  std::fill(taken_, taken_ + 2 * settings_.beam, false);
  for (std::int32_t i = 0; i < state_.count; ++i) predict(now_[i]);
}

std::size_t TransducerBeam::saved_bytes() const noexcept { return measure_state(*this); }
void TransducerBeam::save(std::span<std::byte> to) const noexcept { save_state(*this, to); }
Status TransducerBeam::restore(std::span<const std::byte> from) noexcept {
  return restore_state(*this, from);
}

}  // namespace runnel::decoding
