// Time of every front end as a multiple of FFTW's (single precision) for the bare transform of 512 real
// points, in the same run: all cases alternate, so that a busy machine slows them all.
//
//   features_bench [--seconds S] [--check] [--level reference|generic|avx2|avx512]... > section of
//   docs/speed.md
//
// --check: fails when a level of vectors is slower than a lower one.
// A new front end is one add(): see Bench below.
#include <fftw3.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "bench/interleaved.h"
#ifdef RUNNEL_BENCH_KALDI
#include "bench/kaldi_fbank.h"
#endif
#include "features/fbank/fbank.h"
#include "features/fbank/fbank_parameters.h"
#include "features/microfrontend/microfrontend.h"
#include "features/samples/resampler.h"
#include "features/stft.h"

namespace runnel::bench {
namespace {

using namespace runnel::features;

constexpr std::size_t kFrames = 100;  // of one call
constexpr std::size_t kHop = 160;     // samples in 10 ms at 16 kHz

template <class T>
T need(Result<T> result) {
  if (result.ok()) return std::move(result.value());
  fmt::print(stderr, "features_bench: {}\n", result.status().text());
  std::exit(1);
}
void expect(bool right, std::string_view what) {
  if (right) return;
  fmt::print(stderr, "features_bench: {}\n", what);
  std::exit(1);
}

std::vector<float> recording(std::size_t count) {
  std::mt19937 random(1);
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = static_cast<double>(static_cast<std::int32_t>(random())) / 2147483648.0;
    x[i] = static_cast<float>(0.1 * std::sin(0.01 * static_cast<double>(i)) *
                                  std::sin(0.3 * static_cast<double>(i)) +
                              0.03 * noise);
  }
  return x;
}
std::vector<std::int16_t> as_int16(const std::vector<float>& x) {
  std::vector<std::int16_t> samples;
  for (const float value : x) samples.push_back(static_cast<std::int16_t>(value * 32767));
  return samples;
}

// FFTW's bare real transform, data in the first-level cache.
class Fftw {
 public:
  explicit Fftw(std::size_t points)
      : in_(static_cast<float*>(fftwf_malloc(sizeof(float) * points))),
        out_(static_cast<fftwf_complex*>(fftwf_malloc(sizeof(fftwf_complex) * (points / 2 + 1)))),
        plan_(fftwf_plan_dft_r2c_1d(static_cast<int>(points), in_, out_, FFTW_MEASURE)) {
    const std::vector<float> x = recording(points);
    std::copy(x.begin(), x.end(), in_);
  }
  ~Fftw() {
    fftwf_destroy_plan(plan_);
    fftwf_free(in_);
    fftwf_free(out_);
  }
  Fftw(const Fftw&) = delete;
  Fftw& operator=(const Fftw&) = delete;
  void run() const {
    for (std::size_t i = 0; i < kFrames; ++i) fftwf_execute(plan_);
  }

 private:
  float* in_;
  fftwf_complex* out_;
  fftwf_plan plan_;
};

// One row of the table.
struct Row {
  std::string name, level, input;
  std::string yardstick;  // the case whose time is 1
  double at_most = 0;     // multiple of the yardstick; 0: no goal
  std::string unit_of;    // chunked: the offline case, whose time it may exceed by a factor of 1.1
  [[nodiscard]] std::string key() const { return name + "/" + level + "/" + input; }
};

class Bench {
 public:
  // `check`: false when a level is slower than a lower one.
  bool run(double seconds, const std::vector<Isa>& levels, bool check) {
    const std::string fftw512 = add_fftw(512), fftw400 = add_fftw(400);
    for (const Isa isa : levels) {
      add_own_fft(512, isa, fftw512);
      const bool best = isa == best_isa() || isa == Isa::avx512;
      add_fbank("fbank-80", kaldi("kaldi", 80), isa, fftw512,
                isa == Isa::generic ? 3.5
                : isa >= Isa::avx2  ? 1.5
                                    : 0);
      add_fbank("fbank-40", kaldi("kaldi", 40), isa, fftw512, 0);
      add_fbank("MFCC-13", kaldi("kaldi-mfcc", 23), isa, fftw512, 0);
      add_own_fft(400, isa, fftw400);
      add_fbank("Whisper-80", whisper(), isa, fftw400, best ? 4 : 0);
      add_stft_and_back(isa, fftw512);
      add_microfrontend(isa, fftw512, 6);
      add_resampler(44100, isa, fftw512);
      add_resampler(48000, isa, fftw512);
    }
#ifdef RUNNEL_BENCH_KALDI
    add_kaldi(80, fftw512, levels.back());
#endif
    times_ = cases_.run(seconds);
    print();
    return !check || no_level_is_slower(levels);
  }

 private:
  std::string add(Row row, std::function<void()> call, std::size_t frames = kFrames) {
    cases_.add(row.key(), std::move(call), static_cast<double>(frames));
    rows_.push_back(std::move(row));
    return rows_.back().key();
  }

  std::string add_fftw(std::size_t points) {
    const auto fftw = std::make_shared<Fftw>(points);
    Row row{fmt::format("FFTW rfft-{}", points), "its own", "one frame", "", 0, ""};
    row.yardstick = row.key();
    return add(row, [fftw] { fftw->run(); });
  }

  void add_own_fft(std::size_t points, Isa isa, const std::string& yardstick) {
    struct State {
      HeapMemory memory;
      OwnFft fft;
      std::vector<float> x, re, im;
    };
    const auto state = std::make_shared<State>();
    expect(state->fft.init(points, isa, state->memory).ok(), "no FFT of this size");
    state->x = recording(points);
    state->re.resize(points / 2 + 1);
    state->im.resize(points / 2 + 1);
    add({fmt::format("own rfft-{}", points), std::string(name_of(isa)), "one frame", yardstick, 0, ""},
        [state] {
          for (std::size_t i = 0; i < kFrames; ++i)
            state->fft.forward(state->x.data(), state->re.data(), state->im.data());
        });
  }

  // `features` takes spans of Sample and returns `dims` values of Value per frame; `length`: samples of a
  // frame. Adds the cases with all samples at once and with 10 ms at a time.
  template <class Sample, class Value, class Features>
  void add_stream(const std::string& name, std::shared_ptr<Features> features, std::size_t length, Isa isa,
                  const std::string& yardstick, double at_most) {
    const std::vector<float> x = recording((kFrames - 1) * kHop + length);
    auto samples = std::make_shared<std::vector<Sample>>();
    if constexpr (std::is_same_v<Sample, float>)
      *samples = x;
    else
      *samples = as_int16(x);
    const auto out = std::make_shared<std::vector<Value>>((kFrames + 4) * features->dims());
    const auto pass = [features, samples, out](std::size_t piece) {
      features->reset();
      std::size_t frames = 0;
      const auto room = [&] { return std::span(*out).subspan(frames * features->dims()); };
      for (std::size_t at = 0; at < samples->size(); at += piece) {
        frames +=
            features
                ->push(std::span<const Sample>(*samples).subspan(at, std::min(piece, samples->size() - at)),
                       room())
                .frames;
      }
      if constexpr (requires { features->flush(room()); }) frames += features->flush(room());
      return frames;
    };
    const std::size_t size = samples->size(), frames = pass(size);
    expect(frames >= kFrames && pass(kHop) == frames, "wrong number of frames");
    const std::string level(name_of(isa));
    const std::string whole = add(
        {name, level, "whole", yardstick, at_most, ""}, [pass, size] { pass(size); }, frames);
    add(
        {name, level, "10 ms", yardstick, at_most, whole}, [pass] { pass(kHop); }, frames);
  }

  void add_fbank(const std::string& name, const FbankOptions& options, Isa isa, const std::string& yardstick,
                 double at_most) {
    memories_.push_back(std::make_unique<HeapMemory>());
    const auto length = static_cast<std::size_t>(need(shape_of(options)).grid.length);
    const auto fbank = std::make_shared<Fbank>(need(Fbank::make(options, isa, *memories_.back())));
    add_stream<float, float>(name, fbank, length, isa, yardstick, at_most);
  }
  static FbankOptions kaldi(const char* preset_name, std::int32_t bins) {
    FbankOptions options = need(preset(preset_name));
    options.num_mel_bins = bins;
    return options;
  }
  // Whisper's recipe, limited by the largest value so far.
  static FbankOptions whisper() {
    FbankOptions options = kaldi("kaldi", 80);
    options.n_fft = 400;
    options.round_to_power_of_two = false;
    options.center = options.drop_last_frame = true;
    options.pad_mode = Padding::reflect;
    options.remove_dc_offset = false;
    options.preemphasis_coefficient = 0;
    options.window_type = WindowType::hann;
    options.low_freq = 0;
    options.high_freq = 8000;
    options.mel_scale = MelScale::slaney;
    options.mel_norm = MelNorm::slaney;
    options.mel_shape = MelShape::hz;
    options.log_type = LogType::log10;
    options.log_floor = 1e-10F;
    options.log_max = LogMax::running;
    options.output_offset = 4;
    options.output_scale = 0.25F;
    return options;
  }

  // Spectra of 512 points every 10 ms, and their inverse.
  class StftAndBack {
   public:
    static constexpr StftOptions kOptions{.n_fft = 512, .hop_length = static_cast<std::int32_t>(kHop)};
    StftAndBack(Isa isa, Memory& memory)
        : forth_(need(Fbank::make(need(frame_options(kOptions, 16000)), isa, memory))),
          back_(need(InverseStft::make(kOptions, isa, memory))),
          samples_(back_.max_samples()) {}
    void reset() {
      forth_.reset();
      back_.reset();
    }
    [[nodiscard]] std::size_t dims() const { return forth_.dims(); }
    Fbank::Step push(std::span<const float> samples, std::span<float> frames) {
      const Fbank::Step step = forth_.push(samples, frames);
      invert(frames, step.frames);
      return step;
    }
    std::size_t flush(std::span<float> frames) {
      const std::size_t count = forth_.flush(frames);
      invert(frames, count);
      return count;
    }

   private:
    void invert(std::span<const float> frames, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) (void)back_.push(frames.data() + i * dims(), samples_);
    }
    Fbank forth_;
    InverseStft back_;
    std::vector<float> samples_;
  };
  void add_stft_and_back(Isa isa, const std::string& yardstick) {
    memories_.push_back(std::make_unique<HeapMemory>());
    add_stream<float, float>("STFT+iSTFT", std::make_shared<StftAndBack>(isa, *memories_.back()), 512, isa,
                             yardstick, 0);
  }

#ifdef RUNNEL_BENCH_KALDI
  // The same features from kaldi-native-fbank, compared before they are timed.
  void add_kaldi(int bins, const std::string& yardstick, Isa isa) {
    constexpr std::size_t kLength = 400;
    const auto samples = std::make_shared<std::vector<float>>(recording((kFrames - 1) * kHop + kLength));
    const auto kaldi_fbank = std::make_shared<KaldiFbank>(bins);
    std::vector<float> theirs(kFrames * static_cast<std::size_t>(bins)), ours(theirs.size());
    expect(kaldi_fbank->push(*samples, theirs.data()) == kFrames,
           "kaldi-native-fbank: wrong number of frames");
    HeapMemory memory;
    FbankOptions options = kaldi("kaldi", bins);
    options.scale = SampleScale::unit;
    Fbank own = need(Fbank::make(options, isa, memory));
    expect(own.push(std::span<const float>(*samples), ours).frames == kFrames, "wrong number of frames");
    for (std::size_t i = 0; i < ours.size(); ++i)
      expect(std::fabs(ours[i] - theirs[i]) < 2e-3F, "kaldi-native-fbank gives other values");
    const auto pass = [kaldi_fbank, samples](std::size_t piece) {
      kaldi_fbank->reset();
      const std::span<const float> all(*samples);
      for (std::size_t at = 0; at < all.size(); at += piece)
        kaldi_fbank->push(all.subspan(at, std::min(piece, all.size() - at)), nullptr);
    };
    const std::string name = fmt::format("kaldi-native-fbank {}", bins);
    add({name, "its own", "whole", yardstick, 0, ""}, [pass, samples] { pass(samples->size()); });
    add({name, "its own", "10 ms", yardstick, 0, ""}, [pass] { pass(kHop); });
  }
#endif

  // Compares the least times of neighbouring levels: the same loops take the same time, give or take what
  // other programs disturb.
  [[nodiscard]] bool no_level_is_slower(const std::vector<Isa>& levels) const {
    constexpr double kNoise = 1.05;
    bool fine = true;
    for (const Row& row : rows_) {
      for (std::size_t i = 1; i < levels.size(); ++i) {
        if (row.level != name_of(levels[i])) continue;
        Row lower = row;
        lower.level = name_of(levels[i - 1]);
        const auto before = times_.find(lower.key());
        if (before == times_.end() || times_.at(row.key()).min <= kNoise * before->second.min) continue;
        fmt::print(stderr, "features_bench: {}, {}: {} takes {:.3f} us, {} takes {:.3f} us\n", row.name,
                   row.input, row.level, times_.at(row.key()).min, lower.level, before->second.min);
        fine = false;
      }
    }
    return fine;
  }

  void add_microfrontend(Isa isa, const std::string& yardstick, double at_most) {
    memories_.push_back(std::make_unique<HeapMemory>());
    const auto front_end = std::make_shared<Microfrontend>(
        need(Microfrontend::make(need(microfrontend_preset("micro-wake-word")), isa, *memories_.back())));
    add_stream<std::int16_t, std::uint16_t>("microfrontend-40", front_end,
                                            static_cast<std::size_t>(front_end->grid().length), isa,
                                            yardstick, at_most);
  }

  void add_resampler(std::int32_t rate, Isa isa, const std::string& yardstick) {
    memories_.push_back(std::make_unique<HeapMemory>());
    const auto resampler = std::make_shared<Resampler>(
        need(Resampler::make({.in_rate = rate, .out_rate = 16000}, isa, *memories_.back())));
    const auto piece = static_cast<std::size_t>(rate / 100);
    const auto x = std::make_shared<std::vector<float>>(recording(piece));
    const auto out = std::make_shared<std::vector<float>>(resampler->max_outputs(piece));
    add({fmt::format("resampler {} to 16000 Hz", rate), std::string(name_of(isa)), "10 ms", yardstick, 0, ""},
        [resampler, x, out] {
          for (std::size_t i = 0; i < kFrames; ++i)
            expect(resampler->push(*x, *out).samples == x->size(), "resampler stopped");
        });
  }

  void print() const {
    fmt::print(
        "## Features\n\n"
        "16 kHz samples in memory, frames of 25 ms (microfrontend: 30 ms) each 10 ms, 512 points, {} times "
        "round, in turn (`bench/features_bench`).\n"
        "*whole*: one second at once; *10 ms*: a call per frame. Frames a second are those of the medians. "
        "Goals are multiples of FFTW's\n"
        "bare transform of as many points in the same run; pieces of 10 ms may take 1.1 times what the whole "
        "takes. All levels give the same bits.\n\n"
        "| case | level | input | frames/s | median, us | least, us | x FFTW, medians | of least | goal | x "
        "whole, medians | of least |\n"
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        cases_.rounds());
    for (const Row& row : rows_) {
      const Times mine = times_.at(row.key()), fftw = times_.at(row.yardstick);
      std::string line = fmt::format("| {} | {} | {} | {:.0f} | {:.3f} | {:.3f} | {:.2f} | {:.2f} | {} |",
                                     row.name, row.level, row.input, 1e6 / mine.median, mine.median, mine.min,
                                     mine.median / fftw.median, mine.min / fftw.min,
                                     row.at_most > 0 ? fmt::format("{:.1f}", row.at_most) : "");
      if (row.unit_of.empty()) {
        line += " | |";
      } else {
        const Times whole = times_.at(row.unit_of);
        line += fmt::format(" {:.2f} | {:.2f} |", mine.median / whole.median, mine.min / whole.min);
      }
      fmt::print("{}\n", line);
    }
  }

  Interleaved cases_;
  std::vector<Row> rows_;
  std::vector<std::unique_ptr<HeapMemory>> memories_;
  std::map<std::string, Times> times_;
};

// Parses a level, `reference` .. `avx512`.
bool level_named(std::string_view text, Isa& isa) {
  for (const Isa one : {Isa::reference, Isa::generic, Isa::avx2, Isa::avx512}) {
    if (text != name_of(one)) continue;
    isa = one;
    return true;
  }
  return false;
}

}  // namespace
}  // namespace runnel::bench

int main(int argc, char** argv) {
  using runnel::Isa;
  double seconds = 10;
  bool check = false;
  std::vector<Isa> levels;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    Isa isa{};
    if (option == "--seconds" && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (option == "--check") {
      check = true;
    } else if (option == "--level" && i + 1 < argc && runnel::bench::level_named(argv[i + 1], isa)) {
      ++i;
      if (isa > runnel::best_isa()) {
        std::fprintf(stderr, "features_bench: %s: not on this machine\n", argv[i]);
        return 1;
      }
      levels.push_back(isa);
    } else {
      std::fputs("usage: features_bench [--seconds S] [--check] [--level reference|generic|avx2|avx512]...\n",
                 stderr);
      return 2;
    }
  }
  if (levels.empty()) {
    for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) {
      if (isa <= runnel::best_isa()) levels.push_back(isa);
    }
  }
  return runnel::bench::Bench().run(seconds, levels, check) ? 0 : 1;
}
