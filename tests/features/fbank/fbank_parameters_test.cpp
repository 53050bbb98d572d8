#include "features/fbank/fbank_parameters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank.h"

namespace runnel::features {
namespace {

std::string set_text(std::string_view name, std::string_view value) {
  FbankOptions options;
  const Status status = set(options, name, value);
  EXPECT_FALSE(status.ok()) << name << "=" << value;
  return std::string(status.text());
}

std::string value_of(const FbankOptions& options, std::string_view name) {
  for (const Parameter& parameter : parameters()) {
    if (parameter.name != name) continue;
    Text text;
    append_value(text, parameter, options);
    return std::string(text.view());
  }
  return "no such parameter";
}

TEST(FbankParameters, AreSetByName) {
  FbankOptions o;
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"num_mel_bins", "40"},
                                                        {"window_type", "hann"},
                                                        {"snip_edges", "false"},
                                                        {"preemphasis_coefficient", "0.95"},
                                                        {"high_freq", "-400"},
                                                        {"scale", "int16"},
                                                        {"fft", "fftw"},
                                                        {"kind", "mfcc"},
                                                        {"energy_floor", "1e-3"}}) {
    const Status status = set(o, name, value);
    EXPECT_TRUE(status.ok()) << status.text();
  }
  EXPECT_EQ(o.num_mel_bins, 40);
  EXPECT_EQ(o.window_type, WindowType::hann);
  EXPECT_FALSE(o.snip_edges);
  EXPECT_EQ(o.preemphasis_coefficient, 0.95F);
  EXPECT_EQ(o.high_freq, -400.0F);
  EXPECT_EQ(o.scale, SampleScale::int16);
  EXPECT_EQ(o.fft, FftChoice::fftw);
  EXPECT_EQ(o.kind, FeatureKind::mfcc);
  EXPECT_EQ(o.energy_floor, 1e-3F);
}

TEST(FbankParameters, ErrorsNameParameterValueAndRange) {
  EXPECT_EQ(set_text("num_mel_bins", "0"), "num_mel_bins=0: expected 1 to 4096");
  EXPECT_EQ(set_text("num_mel_bins", "4e1"), "num_mel_bins=4e1: expected 1 to 4096");
  EXPECT_EQ(set_text("num_mel_bins", ""), "num_mel_bins=: expected 1 to 4096");
  EXPECT_EQ(set_text("preemphasis_coefficient", "1.5"), "preemphasis_coefficient=1.5: expected 0 to 1");
  EXPECT_EQ(set_text("preemphasis_coefficient", "nan"), "preemphasis_coefficient=nan: expected 0 to 1");
  EXPECT_EQ(set_text("sample_frequency", "16k"), "sample_frequency=16k: expected 10 to 768000 Hz");
  EXPECT_EQ(set_text("snip_edges", "maybe"), "snip_edges=maybe: expected true or false");
  EXPECT_EQ(
      set_text("window_type", "kaiser"),
      "window_type=kaiser: expected povey, hamming, hanning, hann, blackman, sine, rectangular, sqrt_hann");
  EXPECT_EQ(set_text("num_mels_bins", "40"), "unknown parameter 'num_mels_bins'; did you mean num_mel_bins?");
  EXPECT_TRUE(set_text("zzzzzzzzzz", "1")
                  .starts_with("unknown parameter 'zzzzzzzzzz'; known are kind, sample_frequency"));
}

TEST(FbankParameters, EveryValueReadsBackAndEveryRangeIsKept) {
  for (const Preset& one : presets()) {
    FbankOptions copy;
    for (const Parameter& parameter : parameters()) {
      EXPECT_FALSE(parameter.help.empty()) << parameter.name;
      const std::string text = value_of(one.options, parameter.name);
      const Status status = set(copy, parameter.name, text);
      EXPECT_TRUE(status.ok()) << status.text();
      EXPECT_EQ(parameter.get(copy), parameter.get(one.options)) << parameter.name << " " << text;
    }
  }
  for (const Parameter& parameter : parameters()) {
    if (parameter.type != Parameter::Type::real && parameter.type != Parameter::Type::integer) continue;
    for (const double bad : {parameter.least - 1, parameter.most * 1.01 + 1}) {
      FbankOptions options;
      parameter.put(options, bad);
      if (parameter.get(options) >= parameter.least && parameter.get(options) <= parameter.most)
        continue;  // beyond the type
      const Status status = shape_of(options).status();
      EXPECT_EQ(status.code(), Code::invalid_argument) << parameter.name << " " << bad;
      EXPECT_EQ(status.text().substr(0, parameter.name.size()), parameter.name) << status.text();
    }
  }
}

TEST(FbankParameters, PresetsAreCompleteAndWork) {
  for (const char* name :
       {"kaldi", "kaldi80", "zipformer", "espdl", "torchaudio-kaldi", "kaldi-mfcc", "wenet"}) {
    const Result<FbankOptions> options = preset(name);
    ASSERT_TRUE(options.ok()) << name;
    HeapMemory memory;
    const Result<Fbank> fbank = Fbank::make(options.value(), best_isa(), memory);
    EXPECT_TRUE(fbank.ok()) << name << ": " << fbank.status().text();
  }
  EXPECT_EQ(preset("kaldy80").status().text(), "unknown preset 'kaldy80'; did you mean kaldi80?");
  EXPECT_EQ(preset("kaldy80").status().code(), Code::not_found);
  EXPECT_TRUE(
      preset("qqqqqqqqq").status().text().starts_with("unknown preset 'qqqqqqqqq'; known are kaldi, "));
}

TEST(FbankOptions, RefusesCombinationsThatMakeNoSense) {
  const auto text = [](auto change) {
    FbankOptions options;
    change(options);
    HeapMemory memory;
    const Result<Fbank> fbank = Fbank::make(options, best_isa(), memory);
    EXPECT_EQ(fbank.status().code(), Code::invalid_argument);
    EXPECT_FALSE(Fbank::memory_bytes(options, best_isa()).ok() &&
                 Fbank::memory_bytes(options, best_isa()).value() == 0);
    return std::string(fbank.status().text());
  };
  EXPECT_EQ(text([](FbankOptions& o) { o.n_fft = 256; }),
            "n_fft 256: expected at least the frame length, 400 samples, or long_frames=cut");
  EXPECT_EQ(text([](FbankOptions& o) { o.frame_length = 100000; }),
            "frame_length gives an FFT size of 2097152: expected at most 1048576");
  EXPECT_EQ(text([](FbankOptions& o) { o.win_length = 1; }), "win_length: 1 samples, expected at least 2");
  EXPECT_EQ(text([](FbankOptions& o) { o.low_freq = 8000; }),
            "low_freq 8000 Hz: expected 0 up to below 8000 Hz, half the sample frequency");
  EXPECT_EQ(
      text([](FbankOptions& o) { o.high_freq = 9000; }),
      "high_freq 9000 Hz: expected above low_freq 20 Hz and at most 8000 Hz, half the sample frequency");
  EXPECT_EQ(text([](FbankOptions& o) { o.high_freq = -7990; }),
            "high_freq 10 Hz: expected above low_freq 20 Hz and at most 8000 Hz, half the sample frequency");
  EXPECT_EQ(text([](FbankOptions& o) {
              o.kind = FeatureKind::mfcc;
              o.num_ceps = 24;
            }),
            "num_ceps 24: expected 1 to num_mel_bins, 23");
  EXPECT_EQ(text([](FbankOptions& o) { o.frame_shift = 0.05F; }),
            "frame_shift: less than one sample, expected at least 1");
}

TEST(FbankOptions, FrameLengthsFollowKaldisSinglePrecision) {
  FbankOptions options;
  options.sample_frequency = 44100;
  EXPECT_EQ(shape_of(options)->grid.length, 1102);
  options.sample_frequency = 11025;
  EXPECT_EQ(shape_of(options)->grid.length, 275);
}

}  // namespace
}  // namespace runnel::features
