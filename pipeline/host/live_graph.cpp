// What graphs tell about a device that they listen to.
#include "pipeline/host/graph.h"
#include "pipeline/host/json.h"

namespace runnel::pipeline {
namespace {

// Milliseconds of what one frame looks at, and from one frame to the next.
double window_ms(const Clock& clock) { return 1e3 * static_cast<double>(clock.span) / static_cast<double>(clock.denominator) / static_cast<double>(clock.sample_rate); }
double block_ms(const Clock& clock) { return 1e3 / clock.hz(); }

}  // namespace

void Graph::find_live_source() {
  if (sections_.size() == 1) live_ = dynamic_cast<const LiveSource*>(stages_[0].stage.node);
}

std::string Graph::latency() const {
  if (live_ == nullptr) return {};
  const CaptureFacts facts = live_->capture_facts();
  std::string text = "latency: device period " + json_number(facts.period_ms, 2) + " ms (its buffer holds " + json_number(facts.buffer_ms, 2) + " ms)";
  for (int i = 1; i < size(); ++i) {
    if (stage(i).type->output.kinds != 0) continue;
    const Clock& clock = format(inputs(i)[0]).clock;
    text += "; " + std::string(stage(i).label) + ": + a frame every " + json_number(block_ms(clock), 2) + " ms that looks at " + json_number(window_ms(clock), 2) + " ms";
  }
  return text + "; + the time of a step";
}

std::string Graph::live_summary() const {
  if (live_ == nullptr) return {};
  const CaptureFacts facts = live_->capture_facts();
  std::string text = ",\"device\":{\"period_ms\":" + json_number(facts.period_ms, 3) + ",\"buffer_ms\":" + json_number(facts.buffer_ms, 3) +
                     ",\"lost_samples\":" + std::to_string(facts.device_lost) + ",\"overruns\":" + std::to_string(facts.overruns) +
                     ",\"suspends\":" + std::to_string(facts.suspends) + ",\"unplugs\":" + std::to_string(facts.unplugs) + ",\"replugs\":" + std::to_string(facts.replugs) +
                     "},\"overload\":{\"lost_samples\":" + std::to_string(facts.overload_lost) + ",\"largest_backlog_ms\":" + json_number(facts.largest_backlog_ms, 3) +
                     "},\"latency\":[";
  const char* comma = "";
  for (int i = 1; i < size(); ++i) {
    if (stage(i).type->output.kinds != 0) continue;
    const Clock& clock = format(inputs(i)[0]).clock;
    const double fixed = facts.period_ms + block_ms(clock);
    const auto with_step = [&](double microseconds) { return json_number(fixed + microseconds * 1e-3, 3); };
    text += comma + std::string("{\"output\":") + json_string(stage(i).label) + ",\"device_ms\":" + json_number(facts.period_ms, 3) + ",\"block_ms\":" + json_number(block_ms(clock), 3) +
            ",\"window_ms\":" + json_number(window_ms(clock), 3) + ",\"p50_ms\":" + with_step(times().quantile(0.5)) + ",\"p99_ms\":" + with_step(times().quantile(0.99)) +
            ",\"max_ms\":" + with_step(times().largest()) + "}";
    comma = ",";
  }
  return text + "]";
}

}  // namespace runnel::pipeline
