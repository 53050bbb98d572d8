// kaldi-native-fbank as a yardstick of front ends.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace runnel::bench {

// Kaldi's log-mel energies without dither, from samples at 16 kHz in [-1, 1).
class KaldiFbank {
 public:
  explicit KaldiFbank(int bins);
  ~KaldiFbank();
  KaldiFbank(const KaldiFbank&) = delete;
  KaldiFbank& operator=(const KaldiFbank&) = delete;
  // Starts a new recording.
  void reset();
  // Returns the frames that are complete then, and copies them to `out` if it is not null.
  std::size_t push(std::span<const float> samples, float* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace runnel::bench
