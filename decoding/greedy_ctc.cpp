#include "decoding/greedy_ctc.h"

#include <cstring>

#include "decoding/saved_state.h"

namespace runnel::decoding {

Status GreedyCtc::prepare(Memory& memory, std::int32_t blank, std::int32_t max_tokens) noexcept {
  blank_ = blank;
  max_tokens_ = max_tokens;
  tokens_ = memory.array<HeardToken>(static_cast<std::size_t>(max_tokens));
  if (tokens_ == nullptr) return Status(Code::out_of_memory, "no memory for the tokens of an utterance");
  restart();
  return {};
}

void GreedyCtc::restart() noexcept { state_ = {}; }

void GreedyCtc::next_utterance() noexcept { state_.count = 0; }

void GreedyCtc::step(const FrameScores& scores, std::int32_t frame) noexcept {
  const std::int32_t token = scores.best();
  if (token == blank_) {
    state_.run = -1;
    return;
  }
  const float posterior = scores.posterior(token);
  if (token != state_.run) {
    state_.run = token;
    state_.sum = 0;
    state_.frames = 0;
    tokens_[state_.count++] = {.token = token, .word = -1, .first = frame, .last = frame, .confidence = 0};
  }
  if (state_.count == 0) return;  // the end of a token of the previous utterance
  HeardToken& open = tokens_[state_.count - 1];
  open.last = frame;
  state_.sum += posterior;
  ++state_.frames;
  const float mean = state_.sum / static_cast<float>(state_.frames);
  open.confidence = mean < 1 ? mean : 1;
}

std::size_t GreedyCtc::saved_bytes() const noexcept { return measure_state(*this); }
void GreedyCtc::save(std::span<std::byte> to) const noexcept { save_state(*this, to); }
Status GreedyCtc::restore(std::span<const std::byte> from) noexcept { return restore_state(*this, from); }

}  // namespace runnel::decoding
