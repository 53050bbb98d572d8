#include "pipeline/nodes/sensor/statistics.h"

#include <algorithm>

#include "base/from_chars.h"
#include "base/suggest.h"
#include "pipeline/nodes/finite_input.h"

namespace runnel::pipeline {
namespace {

using features::Band;
using features::kStatisticNames;
using features::Statistic;

constexpr Parameter kParameters[] = {
    text_parameter<&Statistics::window>("window", "",
                                        "length of a window: input frames, or a time (2.56s, 40ms)"),
    text_parameter<&Statistics::hop>("hop", "", "from window to window, likewise"),
    text_parameter<&Statistics::statistics>("statistics", "",
                                            "what to compute per channel, separated by commas: mean, "
                                            "std, rms, peak, peak_to_peak, zero_crossings, band_power"),
    text_parameter<&Statistics::bands>("bands", "",
                                       "for band_power: LOW-HIGH in Hz, separated by commas (0-5,5-20)"),
    text_parameter<&Statistics::spectral_window>("spectral_window",
                                                 "hann|hanning|hamming|blackman|sine|rectangular",
                                                 "window function before the transform of band_power"),
    switch_parameter<&Statistics::remove_dc_offset>(
        "remove_dc_offset", "zero crossings and band powers are those of the window minus its mean"),
    text_parameter<&Statistics::non_finite>(
        "non_finite", FiniteInput::kChoices,
        "samples that are infinite or not a number: read as 0, or refused"),
};

// Removes and returns the part before the next comma.
std::string_view take_item(std::string_view& list) noexcept {
  const std::string_view item = list.substr(0, list.find(','));
  list.remove_prefix(std::min(item.size() + 1, list.size()));
  return item;
}

Result<std::span<const Statistic>> read_statistics(std::string_view list, Memory& memory) noexcept {
  auto* found =
      memory.array<Statistic>(static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1);
  if (found == nullptr) return out_of_memory("the statistics");
  std::size_t count = 0;
  while (!list.empty()) {
    const std::string_view item = take_item(list);
    const auto* name = std::find(std::begin(kStatisticNames), std::end(kStatisticNames), item);
    if (name == std::end(kStatisticNames)) {
      Status status(Code::invalid_argument);
      status << "statistics: there is no '" << item << '\'';
      if (const std::string_view near = suggest(item, kStatisticNames); !near.empty())
        return std::move(status) << ", did you mean '" << near << "'?";
      status << "; there are:";
      for (const std::string_view other : kStatisticNames) status << ' ' << other;
      return status;
    }
    found[count++] = static_cast<Statistic>(name - std::begin(kStatisticNames));
  }
  return std::span<const Statistic>(found, count);
}

Result<std::span<const Band>> read_bands(std::string_view list, Memory& memory) noexcept {
  auto* found = memory.array<Band>(static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1);
  if (found == nullptr) return out_of_memory("the bands");
  std::size_t count = 0;
  while (!list.empty()) {
    const std::string_view item = take_item(list);
    const char* const end = item.data() + item.size();
    Band& band = found[count++];
    const auto low = from_chars(item.data(), end, band.low);
    const bool dash = low.ec == std::errc() && low.ptr != end && *low.ptr == '-';
    const auto high = from_chars(dash ? low.ptr + 1 : end, end, band.high);
    if (!dash || high.ec != std::errc() || high.ptr != end) {
      return Status(Code::invalid_argument)
             << "bands: '" << item << "' is not a band; expected LOW-HIGH in Hz, such as 0.5-5";
    }
  }
  return std::span<const Band>(found, count);
}

features::WindowType window_type(std::string_view name) noexcept {
  if (name == "hanning") return features::WindowType::hanning;
  if (name == "hamming") return features::WindowType::hamming;
  if (name == "blackman") return features::WindowType::blackman;
  if (name == "sine") return features::WindowType::sine;
  return name == "rectangular" ? features::WindowType::rectangular : features::WindowType::hann;
}

}  // namespace

const NodeType Statistics::type = {
    .name = "statistics",
    .help =
        "Statistics of windows over a stream of any number of channels: mean, deviation, RMS, peaks, zero "
        "crossings, power per band.",
    .input = {Kind::audio | Kind::frames, "float32"},
    .output = {static_cast<Kinds>(Kind::frames), "float32, statistics x channels values"},
    .parameters = kParameters,
    .make = make_node<Statistics>,
};

Status Statistics::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  const Clock& clock = context.input.clock;
  features::WindowStatisticsOptions options;
  RUNNEL_ASSIGN(options.window, read_length("window", window, clock));
  RUNNEL_ASSIGN(options.hop, read_length("hop", hop, clock));
  RUNNEL_ASSIGN(options.statistics, read_statistics(statistics, context.memory));
  RUNNEL_ASSIGN(options.bands, read_bands(bands, context.memory));
  options.channels = context.input.channels;
  options.sample_rate = clock.hz();
  options.spectral_window = window_type(spectral_window);
  options.remove_dc_offset = remove_dc_offset;
  options.refuse_non_finite = non_finite == "error";
  RUNNEL_ASSIGN(statistics_, features::WindowStatistics::make(options, context.isa, context.memory));
  use_windows({.length = options.window,
               .hop = options.hop,
               .values = static_cast<std::int64_t>(statistics_->dims()),
               .most = static_cast<std::int64_t>(
                   statistics_->max_windows(static_cast<std::size_t>(context.max_input)))},
              context);
  return {};
}

Result<std::size_t> Statistics::push(std::span<const float> samples, std::span<float> out) noexcept {
  const std::size_t windows = statistics_->push(samples, out).windows;
  RUNNEL_TRY(statistics_->status());
  return windows;
}

Text Statistics::note() const noexcept {
  return note_of_replaced(type.name, statistics_ ? static_cast<std::int64_t>(statistics_->non_finite()) : 0);
}

}  // namespace runnel::pipeline
