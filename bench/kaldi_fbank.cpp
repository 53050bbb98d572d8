#include "bench/kaldi_fbank.h"

#include <algorithm>

#include "kaldi-native-fbank/csrc/online-feature.h"

namespace runnel::bench {

struct KaldiFbank::State {
  knf::FbankOptions options;
  std::unique_ptr<knf::OnlineFbank> features;
  int given = 0;
};

KaldiFbank::KaldiFbank(int bins) : state_(std::make_unique<State>()) {
  state_->options.frame_opts.dither = 0;
  state_->options.mel_opts.num_bins = bins;
  reset();
}
KaldiFbank::~KaldiFbank() = default;

void KaldiFbank::reset() {
  state_->features = std::make_unique<knf::OnlineFbank>(state_->options);
  state_->given = 0;
}

std::size_t KaldiFbank::push(std::span<const float> samples, float* out) {
  knf::OnlineFbank& features = *state_->features;
  features.AcceptWaveform(16000, samples.data(), static_cast<int>(samples.size()));
  const int ready = features.NumFramesReady(), fresh = ready - state_->given;
  for (; out != nullptr && state_->given < ready; ++state_->given)
    out = std::copy_n(features.GetFrame(state_->given), features.Dim(), out);
  features.Pop(fresh);
  state_->given = ready;
  return static_cast<std::size_t>(fresh);
}

}  // namespace runnel::bench
