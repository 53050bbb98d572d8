#include "services/page/terminal_view.h"

#include <algorithm>
#include <cmath>

#include "pipeline/host/json.h"
#include "pipeline/transcript.h"
#include "services/page/watches.h"

namespace runnel::page {
namespace {

using namespace pipeline;

constexpr std::chrono::milliseconds kBetween(100);
constexpr std::size_t kWidth = 79, kBars = 20;
constexpr double kLeastDecibels = -60;

// Values outside [0, 1] are shown after a softmax.
std::vector<double> shares(const std::vector<float>& values) {
  std::vector<double> result(values.begin(), values.end());
  if (std::all_of(result.begin(), result.end(), [](double value) { return value > -1e-3 && value < 1.001; }))
    return result;
  const double largest = *std::max_element(result.begin(), result.end());
  double sum = 0;
  for (double& value : result) sum += value = std::exp(value - largest);
  for (double& value : result) value /= sum;
  return result;
}

// Labels and tokens come from files: control characters, which could move the cursor, are not shown.
std::string printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char letter) { return letter < 32 || letter == 127; }, '?');
  return shown;
}

// The end of a text within so many bytes, from the start of a character on.
std::string tail(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t start = text.size() - bytes;
  while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U) ++start;
  return text.substr(start);
}

}  // namespace

void TerminalView::connect(const Graph& graph) {
  for (int i = 0; i < graph.size(); ++i) {
    if (auto* watch = dynamic_cast<Watch*>(graph.stage(i).node); watch != nullptr) watch->listen(*this);
  }
}

void TerminalView::watched(const Watch& watch, std::span<const float> values, std::int64_t) {
  const std::lock_guard lock(mutex_);
  if (watch.what == kWatchedSource) {
    for (const float value : values) peak_ = std::max(peak_, std::abs(value));
    return;
  }
  if (watch.what != kWatchedModel) return;
  const auto channels = static_cast<std::size_t>(watch.format().channels);
  Values& kept = values_[&watch];
  if (kept.shown) kept.largest.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(channels));
  kept.shown = false;
  for (std::size_t i = 0; i < values.size(); ++i)
    kept.largest[i % channels] = std::max(kept.largest[i % channels], values[i]);
}

// The record of an event is written next, possibly to the same terminal.
void TerminalView::watched(const Watch&, const Event& event, const std::string&) {
  clear();
  heard_ = is_partial(event) ? printable(event.transcript->text) : std::string();
}

void TerminalView::clear() {
  const std::lock_guard lock(mutex_);
  erase();
}

void TerminalView::erase() {
  if (drawn_) write_("\r\x1b[K");
  drawn_ = false;
}

std::string TerminalView::line(double seconds, std::int64_t lost, std::size_t columns) const {
  const double level =
      peak_ > 0 ? std::max(20 * std::log10(static_cast<double>(peak_)), kLeastDecibels) : kLeastDecibels;
  const auto bars =
      static_cast<std::size_t>(std::lround(kBars * std::clamp(1 - level / kLeastDecibels, 0.0, 1.0)));
  std::string text = json_number(seconds, 1) + " s  [" + std::string(bars, '#') +
                     std::string(kBars - bars, '.') + "] " + json_number(level, 0) + " dB";
  if (lost > 0) text += "  LOST " + std::to_string(lost) + " samples";
  // Words say more than the tokens of a moment.
  if (!heard_.empty() && text.size() + 2 < columns)
    return text + "  " + tail(heard_, columns - text.size() - 2);
  for (const auto& [watch, kept] : values_) {
    const std::vector<double> values = shares(kept.largest);
    std::vector<std::size_t> order(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::size_t shown = std::min<std::size_t>(3, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                      [&](std::size_t a, std::size_t b) {
                        return values[a] > values[b] || (values[a] == values[b] && a < b);
                      });
    const std::span<const std::string_view> labels = watch->format().labels;
    for (std::size_t i = 0; i < shown; ++i) {
      const std::string label =
          order[i] < labels.size() ? printable(labels[order[i]]) : std::to_string(order[i]);
      text += "  " + label + " " + json_number(values[order[i]], 2);
    }
  }
  // Do not cut within a multi-byte character.
  if (text.size() > columns) {
    std::size_t end = columns;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text.resize(end);
  }
  return text;
}

void TerminalView::stepped(const Graph& graph) {
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < kBetween) return;
  told_ = now;
  const std::lock_guard lock(mutex_);
  write_("\r\x1b[K" + line(graph.executor().seconds(), graph.executor().lost(), kWidth));
  drawn_ = true;
  peak_ = 0;
  for (auto& [watch, kept] : values_) kept.shown = true;
}

}  // namespace runnel::page
