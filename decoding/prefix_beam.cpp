#include "decoding/prefix_beam.h"

#include <algorithm>

#include "decoding/saved_state.h"
#include "decoding/token_hash.h"

namespace runnel::decoding {
namespace {

// Half a chance: from here on a frame belongs to its token.
constexpr float kHalf = 0.5f;

// Sums of impossible scores must not grow until they wrap.
LogProbability at_least_never(LogProbability value) noexcept { return value > kNever ? value : kNever; }

}  // namespace

Status PrefixBeam::prepare(Memory& memory, const BeamSettings& settings) noexcept {
  settings_ = settings;
  if (settings_.hotwords != nullptr && settings_.hotwords->empty()) settings_.hotwords = nullptr;
  if (settings_.candidates <= 0 || settings_.candidates > settings_.classes)
    settings_.candidates = settings_.classes;
  const auto beam = static_cast<std::size_t>(settings_.beam);
  now_ = memory.array<Hypothesis>(beam);
  next_ = memory.array<Hypothesis>(beam);
  extensions_ = memory.array<Extension>(beam);
  stays_ = memory.array<Stay>(beam);
  order_ = memory.array<std::int32_t>(beam);
  const std::size_t tokens = settings_.graph != nullptr ? 0 : static_cast<std::size_t>(settings_.candidates);
  tokens_ = memory.array<std::int32_t>(tokens);
  token_logs_ = memory.array<LogProbability>(tokens);
  if (now_ == nullptr || next_ == nullptr ||
      !history_.prepare(memory, settings_.beam, settings_.max_tokens) || extensions_ == nullptr ||
      stays_ == nullptr || order_ == nullptr || tokens_ == nullptr || token_logs_ == nullptr)
    return Status(Code::out_of_memory, "no memory for the hypotheses");
  restart();
  return {};
}

void PrefixBeam::restart() noexcept {
  state_ = {.base = 0, .count = 1, .reserved = 0};
  history_.clear();
  now_[0] = {};
  now_[0].blank = 0;
  now_[0].last.token = -1;
  if (settings_.graph != nullptr) now_[0].node = settings_.graph->start;
  if (settings_.hotwords != nullptr) now_[0].hot.state = settings_.hotwords->start;
}

void PrefixBeam::next_utterance(bool keep) noexcept {
  const Hypothesis* const found = best_of(true);
  const Hypothesis last = found != nullptr ? *found : now_[0];
  restart();
  const LogProbability total = log_add(last.blank, last.label);
  now_[0].blank = at_least_never(last.blank - total);
  now_[0].label = at_least_never(last.label - total);
  now_[0].last.token = last.last.token;
  if (!keep) return;
  now_[0].node = last.node;
  now_[0].hot.state = last.hot.state;
  if (settings_.hotwords != nullptr)
    now_[0].hot.lent = settings_.hotwords->states[static_cast<std::size_t>(last.hot.state)].credit;
}

// ---- the history

void PrefixBeam::collect_garbage() noexcept {
  history_.begin_collection();
  for (std::int32_t i = 0; i < state_.count; ++i) history_.mark(now_[i].before);
  history_.end_collection();
}

std::int32_t PrefixBeam::remember(const Hypothesis& of, std::int32_t word) noexcept {
  if (of.length == 0) return -1;
  HeardToken token = of.last;
  token.word = word;
  return history_.add(token, of.before);
}

// Whether the tokens up to a history entry are those of a hypothesis.
bool PrefixBeam::same_prefix(std::int32_t entry, const Hypothesis& of) const noexcept {
  if (entry < 0 || of.length == 0) return entry < 0 && of.length == 0;
  return history_.token(entry).token == of.last.token && history_.same(history_.before(entry), of.before);
}

bool PrefixBeam::same(const Hypothesis& a, const Hypothesis& b) const noexcept {
  if (a.length != b.length || a.hash != b.hash) return false;
  return a.length == 0 || (a.last.token == b.last.token && history_.same(a.before, b.before));
}

// ---- a step

// The most likely tokens, the first of equal ones first.
void PrefixBeam::choose_tokens(const FrameScores& scores) noexcept {
  token_count_ = 0;
  for (std::int32_t c = 0; c < settings_.classes; ++c) {
    if (c == settings_.blank) continue;
    const LogProbability log = scores.log(c);
    std::int32_t at = token_count_;
    if (settings_.candidates < settings_.classes) {
      if (token_count_ == settings_.candidates) {
        if (log <= token_logs_[token_count_ - 1]) continue;
        --at;
      }
      for (; at > 0 && log > token_logs_[at - 1]; --at) {
        tokens_[at] = tokens_[at - 1];
        token_logs_[at] = token_logs_[at - 1];
      }
    }
    tokens_[at] = c;
    token_logs_[at] = log;
    if (token_count_ < settings_.candidates) ++token_count_;
  }
}

void PrefixBeam::offer(const Extension& extension) noexcept {
  std::int32_t end = extension_count_;
  if (settings_.graph != nullptr) {
    // Two ways through the graph to one place, with the same tokens: the same alignments, counted once.
    for (std::int32_t i = 0; i < extension_count_; ++i) {
      const Extension& other = extensions_[i];
      if (other.token != extension.token || other.node != extension.node ||
          !same(now_[other.source], now_[extension.source]))
        continue;
      if (other.rank >= extension.rank) return;
      std::copy(extensions_ + i + 1, extensions_ + extension_count_, extensions_ + i);
      end = --extension_count_;
      break;
    }
  }
  if (end == settings_.beam) {
    if (extension.rank <= extensions_[end - 1].rank) return;
    --end;
  }
  std::int32_t at = end;
  for (; at > 0 && extension.rank > extensions_[at - 1].rank; --at) extensions_[at] = extensions_[at - 1];
  extensions_[at] = extension;
  extension_count_ = end + 1;
}

void PrefixBeam::extend_by(std::int32_t source, LogProbability total, std::int32_t token, LogProbability log,
                           std::int32_t node, std::int32_t word) noexcept {
  const Hypothesis& from = now_[source];
  // The same token again needs a blank in between.
  const LogProbability start = token == from.last.token ? from.blank : total;
  if (start <= kNever / 2) return;
  const LogProbability label = start + log;
  const std::uint32_t hash = hash_with(from.hash, token);
  for (std::int32_t i = 0; i < state_.count; ++i) {
    const Hypothesis& other = now_[i];
    if (other.hash != hash || other.length != from.length + 1 || other.last.token != token ||
        other.node != node || !same_prefix(other.before, from))
      continue;
    stays_[i].incoming = std::max(stays_[i].incoming, label);
    return;
  }
  HotwordScore hot;
  if (settings_.hotwords != nullptr)
    hot = advance(*settings_.hotwords, from.hot, token,
                  settings_.begins_word != nullptr && settings_.begins_word[token]);
  offer({.label = label,
         .rank = label + hot.total(),
         .source = source,
         .token = token,
         .node = node,
         .word = word,
         .hot = hot});
}

void PrefixBeam::extend(const FrameScores& scores, std::int32_t source) noexcept {
  const Hypothesis& from = now_[source];
  if (from.length >= settings_.max_tokens) return;
  const LogProbability total = log_add(from.blank, from.label);
  const WordGraph* const graph = settings_.graph;
  if (graph == nullptr) {
    for (std::int32_t i = 0; i < token_count_; ++i)
      extend_by(source, total, tokens_[i], token_logs_[i], 0, -1);
    return;
  }
  for (const WordArc& arc : graph->arcs_of(from.node))
    extend_by(source, total, arc.token, scores.log(arc.token), arc.node, -1);
  const WordNode& at = graph->nodes[static_cast<std::size_t>(from.node)];
  if (at.word < 0 || at.after < 0) return;
  for (const WordArc& arc : graph->arcs_of(at.after))
    extend_by(source, total, arc.token, scores.log(arc.token), arc.node, at.word);
}

PrefixBeam::Hypothesis PrefixBeam::stayed(std::int32_t index, const FrameScores& scores,
                                          std::int32_t frame) const noexcept {
  Hypothesis stays = now_[index];
  stays.blank = stays_[index].blank;
  stays.label = stays_[index].label;
  if (stays.length == 0) return stays;
  HeardToken& last = stays.last;
  const float posterior = scores.posterior(last.token);
  if (posterior > last.confidence) {
    // So far it was a guess; here it is heard.
    if (last.confidence < kHalf) last.first = frame;
    last.last = frame;
    last.confidence = posterior;
  } else if (posterior >= kHalf && last.last == frame - 1) {
    last.last = frame;
  }
  return stays;
}

PrefixBeam::Hypothesis PrefixBeam::extended(const Extension& extension, const FrameScores& scores,
                                            std::int32_t frame) noexcept {
  const Hypothesis& from = now_[extension.source];
  Hypothesis longer;
  longer.label = extension.label;
  longer.last = {.token = extension.token,
                 .word = -1,
                 .first = frame,
                 .last = frame,
                 .confidence = scores.posterior(extension.token)};
  longer.before = remember(from, extension.word);
  longer.length = from.length + 1;
  longer.hash = hash_with(from.hash, extension.token);
  longer.node = extension.node;
  longer.hot = extension.hot;
  return longer;
}

void PrefixBeam::keep_best(const FrameScores& scores, std::int32_t frame) noexcept {
  for (std::int32_t i = 0; i < state_.count; ++i) {
    Stay& stay = stays_[i];
    stay.label = at_least_never(log_add(stay.label, stay.incoming));
    stay.blank = at_least_never(stay.blank);
    stay.rank = log_add(stay.blank, stay.label) + now_[i].hot.total();
    std::int32_t at = i;
    for (; at > 0 && stay.rank > stays_[order_[at - 1]].rank; --at) order_[at] = order_[at - 1];
    order_[at] = i;
  }
  if (history_.free() < settings_.beam) collect_garbage();
  std::int32_t count = 0, stay = 0, extension = 0;
  LogProbability highest = kNever;
  while (count < settings_.beam && (stay < state_.count || extension < extension_count_)) {
    const bool stays = extension == extension_count_ ||
                       (stay < state_.count && stays_[order_[stay]].rank >= extensions_[extension].rank);
    Hypothesis& kept = next_[count++];
    kept = stays ? stayed(order_[stay++], scores, frame) : extended(extensions_[extension++], scores, frame);
    highest = std::max(highest, log_add(kept.blank, kept.label));
  }
  for (std::int32_t i = 0; i < count; ++i) {
    next_[i].blank = at_least_never(next_[i].blank - highest);
    next_[i].label = at_least_never(next_[i].label - highest);
  }
  state_.base += highest;
  state_.count = count;
  std::swap(now_, next_);
}

void PrefixBeam::step(const FrameScores& scores, std::int32_t frame) noexcept {
  const LogProbability blank = scores.log(settings_.blank);
  for (std::int32_t i = 0; i < state_.count; ++i) {
    const Hypothesis& from = now_[i];
    stays_[i] = {.blank = log_add(from.blank, from.label) + blank,
                 .label = from.last.token < 0 ? kNever : from.label + scores.log(from.last.token),
                 .incoming = kNever,
                 .rank = 0};
  }
  if (settings_.graph == nullptr) choose_tokens(scores);
  extension_count_ = 0;
  for (std::int32_t i = 0; i < state_.count; ++i) extend(scores, i);
  keep_best(scores, frame);
}

// ---- results

// Null when the graph accepts no hypothesis.
const PrefixBeam::Hypothesis* PrefixBeam::best_of(bool final) const noexcept {
  if (!final) return &now_[0];
  const Hypothesis* best = nullptr;
  LogProbability highest = 0;
  for (std::int32_t i = 0; i < state_.count; ++i) {
    const Hypothesis& one = now_[i];
    if (settings_.graph != nullptr && !settings_.graph->nodes[static_cast<std::size_t>(one.node)].accepts)
      continue;
    const LogProbability rank = log_add(one.blank, one.label) + one.hot.settled();
    if (best != nullptr && rank <= highest) continue;
    best = &one;
    highest = rank;
  }
  return best;
}

std::size_t PrefixBeam::best(bool final, std::span<HeardToken> to) const noexcept {
  const Hypothesis* const from = best_of(final);
  if (from == nullptr || from->length == 0) return 0;
  auto at = static_cast<std::size_t>(from->length);
  to[--at] = from->last;
  to[at].word =
      settings_.graph == nullptr ? -1 : settings_.graph->nodes[static_cast<std::size_t>(from->node)].word;
  for (std::int32_t entry = from->before; entry >= 0; entry = history_.before(entry))
    to[--at] = history_.token(entry);
  return static_cast<std::size_t>(from->length);
}

std::size_t PrefixBeam::settled(std::span<const HeardToken> best) const noexcept {
  std::size_t common = best.size();
  const auto compare = [&](std::int32_t position, std::int32_t token) {
    const auto at = static_cast<std::size_t>(position);
    if (at < common && best[at].token != token) common = at;
  };
  for (std::int32_t i = 1; i < state_.count; ++i) {
    const Hypothesis& other = now_[i];
    common = std::min(common, static_cast<std::size_t>(other.length));
    if (other.length == 0) break;
    std::int32_t position = other.length - 1;
    compare(position, other.last.token);
    for (std::int32_t entry = other.before; entry >= 0; entry = history_.before(entry))
      compare(--position, history_.token(entry).token);
  }
  return common;
}

std::int64_t PrefixBeam::score(bool final) const noexcept {
  const Hypothesis* const of = best_of(final);
  if (of == nullptr) return kNever;
  return state_.base + log_add(of->blank, of->label) + (final ? of->hot.settled() : of->hot.total());
}

// ---- saved state

std::size_t PrefixBeam::saved_bytes() const noexcept { return measure_state(*this); }
void PrefixBeam::save(std::span<std::byte> to) const noexcept { save_state(*this, to); }
Status PrefixBeam::restore(std::span<const std::byte> from) noexcept { return restore_state(*this, from); }

}  // namespace runnel::decoding
