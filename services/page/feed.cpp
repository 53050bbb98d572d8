#include "services/page/feed.h"

#include <algorithm>

#include "pipeline/host/json.h"
#include "pipeline/nodes/host/act/record.h"
#include "pipeline/transcript.h"

namespace runnel::page {
namespace {

using namespace pipeline;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenValues(40), kBetweenStats(500);

std::string seconds_of(const Format& format, std::int64_t sample) {
  return json_seconds(sample, format.clock.sample_rate);
}

std::string hexadecimal(const std::vector<std::uint8_t>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

std::size_t Recordings::add(std::filesystem::path path) {
  const std::lock_guard lock(mutex_);
  paths_.push_back(std::move(path));
  return paths_.size() - 1;
}

std::filesystem::path Recordings::path(std::size_t number) const {
  const std::lock_guard lock(mutex_);
  return number < paths_.size() ? paths_[number] : std::filesystem::path();
}

void Feed::connect(const Graph& graph) {
  std::string nodes;
  for (int i = 0; i < graph.size(); ++i) {
    const Stage& stage = graph.stage(i);
    if (auto* watch = dynamic_cast<Watch*>(stage.node); watch != nullptr) {
      watch->listen(*this);
      if (watch->what == kWatchedSource) {
        source_ = watch;
        if (auto made = Spectrum::make(watch->format()); made.ok()) spectrum_ = std::move(made).value();
      }
    }
    if (auto* record = dynamic_cast<Record*>(stage.node); record != nullptr) {
      record->tell([this](const std::filesystem::path& path) {
        remember("{\"type\":\"recording\",\"number\":" + std::to_string(recordings_.add(path)) +
                 ",\"name\":" + json_string(path.filename().string()) + "}");
      });
    }
    nodes += (i == 0 ? "" : ",") + std::string("{\"label\":") + json_string(stage.label) +
             ",\"type\":" + json_string(stage.type->name) + ",\"inputs\":[";
    for (std::size_t k = 0; k < graph.inputs(i).size(); ++k)
      nodes += (k == 0 ? "" : ",") + std::to_string(graph.inputs(i)[k]);
    nodes += "]";
    if (stage.type->output.kinds != 0) nodes += ",\"gives\":" + json_string(describe(graph.format(i)).view());
    if (stage.type->name == "infer") {
      nodes += ",\"labels\":[";
      const Format& format = graph.format(i);
      for (std::size_t k = 0; k < format.labels.size(); ++k)
        nodes += (k == 0 ? "" : ",") + json_string(format.labels[k]);
      nodes += "]";
    }
    nodes += "}";
  }
  std::string text = "{\"type\":\"graph\",\"source\":" + json_string(graph.format(0).source) +
                     ",\"bands\":" + std::to_string(spectrum_ ? spectrum_->bands() : 0) +
                     ",\"latency\":" + json_string(graph.latency()) + ",\"nodes\":[" + nodes + "]}";
  log_.add(text);
  const std::lock_guard lock(mutex_);
  description_ = std::move(text);
}

// In the log for current readers, and here for later ones.
void Feed::remember(const std::string& message) {
  constexpr std::size_t kMax = 100;
  log_.add(message);
  const std::lock_guard lock(mutex_);
  latest_.push_back(message);
  if (latest_.size() > kMax) latest_.pop_front();
}

std::vector<std::string> Feed::beginning() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> messages;
  if (!description_.empty()) messages.push_back(description_);
  messages.insert(messages.end(), latest_.begin(), latest_.end());
  return messages;
}

void Feed::stepped(const Graph& graph) {
  const auto now = steady_clock::now();
  if (now - told_ < kBetweenStats) return;
  told_ = now;
  std::string text = "{\"type\":\"stats\",\"seconds\":" + json_number(graph.executor().seconds(), 2) +
                     ",\"lost_samples\":" + std::to_string(graph.executor().lost()) +
                     ",\"gaps\":" + std::to_string(graph.executor().gaps()) +
                     ",\"step_p50_us\":" + json_number(graph.step_times().quantile(0.5), 1) +
                     ",\"step_p99_us\":" + json_number(graph.step_times().quantile(0.99), 1) +
                     ",\"step_max_us\":" + json_number(graph.step_times().largest(), 1) + ",\"busy_ms\":[";
  for (int i = 0; i < graph.size(); ++i)
    text += (i == 0 ? "" : ",") + json_number(static_cast<double>(graph.busy_nanoseconds(i)) * 1e-6, 3);
  log_.add(text + "]}");
}

void Feed::watched(const Watch& watch, std::span<const float> values, std::int64_t first) {
  const std::lock_guard lock(watching_);
  const Format& format = watch.format();
  if (&watch == source_) {
    if (!spectrum_) return;
    spectrum_->push(values, [&](const Spectrum::Column& column) {
      log_.add(
          "{\"type\":\"spectrum\",\"t\":" + seconds_of(format, format.clock.end_sample(column.sample - 1)) +
          ",\"peak\":" + json_number(static_cast<double>(column.peak), 4) + ",\"bands\":\"" +
          hexadecimal(column.bands) + "\"}");
    });
    return;
  }
  const auto channels = static_cast<std::size_t>(format.channels);
  const std::size_t frames = values.size() / channels;
  Values& kept = values_[&watch];
  if (kept.largest.empty())
    kept.largest.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(channels));
  for (std::size_t i = 0; i < frames * channels; ++i)
    kept.largest[i % channels] = std::max(kept.largest[i % channels], values[i]);
  kept.end = format.clock.end_sample(first + static_cast<std::int64_t>(frames) - 1);
  const auto now = steady_clock::now();
  if (now - kept.told < kBetweenValues) return;
  kept.told = now;
  std::string text = "{\"type\":\"values\",\"t\":" + seconds_of(format, kept.end) + ",\"values\":[";
  for (std::size_t c = 0; c < channels; ++c)
    text += (c == 0 ? "" : ",") + json_number(static_cast<double>(kept.largest[c]), 4);
  kept.largest.clear();
  log_.add(text + "]}");
}

// Partial results go to those who read now; the next one replaces them.
void Feed::watched(const Watch&, const Event& event, const std::string& record) {
  if (is_partial(event))
    log_.add(record);
  else
    remember(record);
}

void Feed::lost(const Watch& watch, const Gap& gap, const std::string& record) {
  if (&watch != source_) return;  // all watches report it; use one
  const std::lock_guard lock(watching_);
  if (spectrum_) spectrum_->restart(gap.begin + gap.lost);
  remember(record);
}

}  // namespace runnel::page
