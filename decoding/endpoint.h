// Where an utterance ends.
#pragma once

#include <cstdint>

namespace runnel::decoding {

struct EndpointSettings {
  std::int32_t silence_before = 0;  // frames of silence without a word that end an utterance; 0: never
  std::int32_t silence_after = 0;   // the same after a word
  std::int32_t longest = 0;         // frames of an utterance at most
};

// Counts frames. Ends an utterance by the rules of Kaldi's online decoders: long silence before any word,
// shorter silence after one, or its length.
class Endpoint {
 public:
  explicit Endpoint(const EndpointSettings& settings = {}) noexcept : settings_(settings) {}

  void restart() noexcept { silence_ = frames_ = 0; }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.bounded(frames_, 0, 1 << 30);
    archive.bounded(silence_, 0, frames_);
  }
  // Takes a frame; whether the utterance ends with it. `words`: something was heard in the utterance.
  bool ends(bool silent, bool words) noexcept {
    ++frames_;
    silence_ = silent ? silence_ + 1 : 0;
    const std::int32_t enough = words ? settings_.silence_after : settings_.silence_before;
    return (enough > 0 && silence_ >= enough) || (settings_.longest > 0 && frames_ >= settings_.longest);
  }

 private:
  EndpointSettings settings_;
  std::int32_t silence_ = 0, frames_ = 0;
};

}  // namespace runnel::decoding
