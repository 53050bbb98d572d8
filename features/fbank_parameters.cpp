#include "features/fbank_parameters.h"

#include <charconv>

#include "base/number_text.h"
#include "base/suggest.h"

namespace runnel::features {
namespace {

using Type = Parameter::Type;

template <auto Member>
double get_member(const FbankOptions& options) noexcept {
  return static_cast<double>(options.*Member);
}
template <auto Member>
void put_member(FbankOptions& options, double value) noexcept {
  using T = std::remove_reference_t<decltype(options.*Member)>;
  if constexpr (std::is_same_v<T, bool>)
    options.*Member = value != 0;
  else if constexpr (std::is_enum_v<T>)
    options.*Member = static_cast<T>(static_cast<int>(value));
  else
    options.*Member = static_cast<T>(value);
}

template <auto Member>
constexpr Parameter real(std::string_view name, std::string_view unit, double least, double most,
                         std::string_view help) {
  return {name, Type::real, unit, least, most, {}, help, get_member<Member>, put_member<Member>};
}
template <auto Member>
constexpr Parameter integer(std::string_view name, double least, double most, std::string_view help) {
  return {name, Type::integer, {}, least, most, {}, help, get_member<Member>, put_member<Member>};
}
template <auto Member>
constexpr Parameter boolean(std::string_view name, std::string_view help) {
  return {name, Type::boolean, {}, 0, 1, {}, help, get_member<Member>, put_member<Member>};
}
template <auto Member>
constexpr Parameter choice(std::string_view name, std::string_view choices, std::string_view help) {
  return {name, Type::choice, {}, 0, 0, choices, help, get_member<Member>, put_member<Member>};
}

using O = FbankOptions;
constexpr Parameter kParameters[] = {
    choice<&O::kind>("kind", "fbank|mfcc", "log-mel energies, or cepstral coefficients made of them"),
    real<&O::sample_frequency>("sample_frequency", "Hz", 10, 768000, "rate of the samples"),
    real<&O::frame_length>("frame_length", "ms", 0.01, 100000,
                           "length of a frame; rounded down to whole samples"),
    real<&O::frame_shift>("frame_shift", "ms", 0.01, 100000,
                          "distance of frames; rounded down to whole samples"),
    boolean<&O::snip_edges>("snip_edges",
                            "only frames that lie wholly inside; false: one frame per shift, edges mirrored"),
    choice<&O::scale>("scale", "unit|int16",
                      "range in which the recipe sees samples: [-1, 1) or [-32768, 32767]"),
    real<&O::dither>("dither", "", 0, 10000,
                     "standard deviation of added noise, in the range of scale; 0: none"),
    integer<&O::seed>("seed", 0, 2147483647,
                      "of the noise: the same seed gives the same noise for the same frame"),
    boolean<&O::remove_dc_offset>("remove_dc_offset", "subtract the mean of each frame"),
    real<&O::preemphasis_coefficient>("preemphasis_coefficient", "", 0, 1, "c in x[i] - c x[i-1]"),
    choice<&O::window_type>("window_type", "povey|hamming|hanning|hann|blackman|sine|rectangular",
                            "hanning is symmetric, hann periodic"),
    real<&O::blackman_coeff>("blackman_coeff", "", 0, 1, "constant term of the blackman window"),
    boolean<&O::round_to_power_of_two>("round_to_power_of_two",
                                       "pad frames with zeros to the next power of two"),
    integer<&O::n_fft>("n_fft", 0, 1048576, "FFT size, even; 0: from the frame length"),
    choice<&O::fft>("fft", "own|fftw", "own: same bits everywhere; fftw: FFTW, hosts only, GPL"),
    boolean<&O::use_power>("use_power", "power spectrum; false: magnitude (fbank only)"),
    integer<&O::num_mel_bins>("num_mel_bins", 1, 4096, "mel filters"),
    real<&O::low_freq>("low_freq", "Hz", 0, 384000, "lower end of the mel bank"),
    real<&O::high_freq>("high_freq", "Hz", -384000, 384000,
                        "upper end; 0 and below: relative to half the sample frequency"),
    choice<&O::empty_filters>("empty_filters", "refuse|floor",
                              "a mel filter without FFT bins: an error, or always the floor"),
    boolean<&O::htk_mode>("htk_mode", "mel energies are at least 1"),
    boolean<&O::use_log_fbank>("use_log_fbank", "natural logarithm of mel energies (fbank only)"),
    boolean<&O::use_energy>("use_energy",
                            "log energy of the frame: one more value (fbank), or in place of C0 (mfcc)"),
    boolean<&O::raw_energy>("raw_energy", "energy before pre-emphasis and window"),
    real<&O::energy_floor>("energy_floor", "", 0, 1e30, "least energy; 0: 1.1920929e-7"),
    boolean<&O::htk_compat>("htk_compat", "energy or C0 last; C0 times sqrt(2)"),
    integer<&O::num_ceps>("num_ceps", 1, 4096, "cepstral coefficients, C0 included (mfcc only)"),
    real<&O::cepstral_lifter>("cepstral_lifter", "", 0, 10000,
                              "Q in 1 + Q/2 sin(pi k / Q); 0: none (mfcc only)"),
    choice<&O::non_finite>("non_finite", "zero|error",
                           "samples that are infinite or not a number: read as 0, or refused"),
};

// The i-th of names separated by '|', empty beyond the last.
std::string_view choice_at(std::string_view choices, std::size_t index) noexcept {
  for (;; --index) {
    const std::size_t bar = choices.find('|');
    if (index == 0) return choices.substr(0, bar);
    if (bar == std::string_view::npos) return {};
    choices.remove_prefix(bar + 1);
  }
}

bool in_range(const Parameter& parameter, double value) noexcept {
  if (parameter.type == Type::choice)
    return value >= 0 && !choice_at(parameter.choices, static_cast<std::size_t>(value)).empty();
  // A limit such as 0.01 has no exact single-precision value: compare in the precision of the option.
  return static_cast<float>(value) >= static_cast<float>(parameter.least) &&
         (parameter.type == Type::integer ? value <= parameter.most
                                          : static_cast<float>(value) <= static_cast<float>(parameter.most));
}

bool parse(const Parameter& parameter, std::string_view text, double& value) noexcept {
  if (parameter.type == Type::choice) {
    for (std::size_t i = 0;; ++i) {
      const std::string_view name = choice_at(parameter.choices, i);
      if (name.empty()) return false;
      if (name == text) {
        value = static_cast<double>(i);
        return true;
      }
    }
  }
  if (parameter.type == Type::boolean) {
    const bool yes = text == "true" || text == "1" || text == "yes" || text == "on";
    const bool no = text == "false" || text == "0" || text == "no" || text == "off";
    value = yes ? 1 : 0;
    return yes || no;
  }
  const char *first = text.data(), *last = text.data() + text.size();
  if (parameter.type == Type::integer) {
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(first, last, whole);
    value = static_cast<double>(whole);
    return error == std::errc() && end == last;
  }
  float number = 0;
  const auto [end, error] = std::from_chars(first, last, number);
  value = static_cast<double>(number);
  return error == std::errc() && end == last && number - number == 0;
}

Status refuse(const Parameter& parameter, std::string_view value) noexcept {
  Text range;
  append_range(range, parameter);
  return Status(Code::invalid_argument) << parameter.name << "=" << value << ": expected " << range.view();
}

}  // namespace

std::span<const Parameter> parameters() noexcept {
  return kParameters;
}

void append_value(Text& text, const Parameter& parameter, const FbankOptions& options) noexcept {
  const double value = parameter.get(options);
  switch (parameter.type) {
    case Type::boolean:
      text << (value != 0 ? "true" : "false");
      return;
    case Type::choice:
      text << choice_at(parameter.choices, static_cast<std::size_t>(value));
      return;
    case Type::integer:
      text << static_cast<std::int64_t>(value);
      return;
    case Type::real:
      text << shortest_text(static_cast<float>(value)).view();
      return;
  }
}

void append_range(Text& text, const Parameter& parameter) noexcept {
  switch (parameter.type) {
    case Type::boolean:
      text << "true or false";
      return;
    case Type::choice:
      for (std::size_t i = 0;; ++i) {
        const std::string_view name = choice_at(parameter.choices, i);
        if (name.empty()) return;
        text << (i > 0 ? ", " : "") << name;
      }
    case Type::integer:
    case Type::real:
      text << shortest_text(parameter.least).view();
      text << " to ";
      text << shortest_text(parameter.most).view();
      if (!parameter.unit.empty()) text << ' ' << parameter.unit;
      return;
  }
}

Status check(const Parameter& parameter, const FbankOptions& options) noexcept {
  if (in_range(parameter, parameter.get(options))) return Status();
  Text value;
  if (parameter.type == Type::choice)
    value << static_cast<std::int64_t>(parameter.get(options));
  else
    append_value(value, parameter, options);
  return refuse(parameter, value.view());
}

Status set(FbankOptions& options, std::string_view name, std::string_view value) noexcept {
  Suggestion suggestion(name);
  for (const Parameter& parameter : kParameters) {
    if (parameter.name != name) {
      suggestion.consider(parameter.name);
      continue;
    }
    double parsed = 0;
    if (!parse(parameter, value, parsed) || !in_range(parameter, parsed)) return refuse(parameter, value);
    parameter.put(options, parsed);
    return Status();
  }
  Status status = Status(Code::not_found) << "unknown parameter '" << name << "'";
  if (!suggestion.best().empty()) return status << "; did you mean " << suggestion.best() << "?";
  status << "; known are ";
  for (const Parameter& parameter : kParameters)
    status << (&parameter == kParameters ? "" : ", ") << parameter.name;
  return status;
}

}  // namespace runnel::features
