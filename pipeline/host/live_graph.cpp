// What a graph reports about its live source and its latency.
#include "pipeline/host/graph.h"
#include "pipeline/host/json.h"
#include "pipeline/host/latency.h"

namespace runnel::pipeline {
namespace {

// Milliseconds of the span of one frame, and from one frame to the next.
double window_ms(const Clock& clock) {
  return 1e3 * static_cast<double>(clock.span) / static_cast<double>(clock.denominator) /
         static_cast<double>(clock.sample_rate);
}
double frame_ms(const Clock& clock) { return 1e3 / clock.hz(); }

}  // namespace

void Graph::find_live_source() {
  if (sections_.size() != 1) return;
  live_ = dynamic_cast<const LiveSource*>(stages_[0].stage.node);
  for (const Placed& placed : stages_) {
    if (auto* model = dynamic_cast<LiveInfer*>(placed.stage.node); model != nullptr) models_.push_back(model);
  }
}

// With overload=skip-inference, the models handle an overload.
void Graph::relieve_models(bool overloaded) {
  if (live_ == nullptr) return;
  for (LiveInfer* model : models_) model->skip(overloaded);
}

const std::vector<OutputDelay>& Graph::delays() const {
  if (delays_) return *delays_;
  delays_.emplace();
  const CaptureFacts facts = live_->capture_facts();
  if (auto found = output_delays(*this, facts.period > 0 ? facts.period : 1); found.ok()) delays_ = *found;
  return *delays_;
}

std::string Graph::latency() const {
  if (live_ == nullptr) return {};
  const CaptureFacts facts = live_->capture_facts();
  const auto ms = [this](std::int64_t units) {
    return json_number(1e3 * static_cast<double>(units) / static_cast<double>(format(0).clock.sample_rate),
                       2);
  };
  std::string text = "latency: ";
  for (const OutputDelay& delay : delays()) {
    const Clock& clock = format(inputs(delay.stage)[0]).clock;
    text += std::string(stage(delay.stage).label) + ": ";
    if (delay.known) {
      text += "at most " + ms(delay.total()) + " ms of sound after the end of what it is about (look-ahead " +
              ms(delay.lookahead) + " + block " + ms(delay.block) + " + device " + ms(delay.device) +
              "), a frame every " + json_number(frame_ms(clock), 2) + " ms that looks at " +
              json_number(window_ms(clock), 2) + " ms; ";
    } else {
      text += "at the end of the stream; ";
    }
  }
  text += "+ the time of a step";
  if (options_.threads > 1)
    text += "; on up to " + std::to_string(options_.threads) +
            " threads, of which one that does not keep up lets " + "at most " +
            std::to_string(ThreadedRun::depth(true)) + " blocks wait";
  if (facts.period > 0)
    text += "; the device gives sound every " + json_number(facts.period_ms, 2) + " ms, its buffer holds " +
            json_number(facts.buffer_ms, 2) + " ms";
  return text;
}

std::string Graph::live_summary() const {
  if (live_ == nullptr) return {};
  const CaptureFacts facts = live_->capture_facts();
  std::int64_t skipped = 0;
  for (const LiveInfer* model : models_) skipped += model->skipped();
  std::string text;
  if (facts.period > 0) {
    text = ",\"device\":{\"period_ms\":" + json_number(facts.period_ms, 3) +
           ",\"buffer_ms\":" + json_number(facts.buffer_ms, 3) +
           ",\"lost_samples\":" + std::to_string(facts.device_lost) +
           ",\"overruns\":" + std::to_string(facts.overruns) +
           ",\"suspends\":" + std::to_string(facts.suspends) +
           ",\"unplugs\":" + std::to_string(facts.unplugs) + ",\"replugs\":" + std::to_string(facts.replugs) +
           "},\"overload\":{\"lost_samples\":" + std::to_string(facts.overload_lost) +
           ",\"skipped_frames\":" + std::to_string(skipped) +
           ",\"largest_backlog_ms\":" + json_number(facts.largest_backlog_ms, 3) + "}";
  }
  text += ",\"latency\":[";
  const char* comma = "";
  for (const OutputDelay& delay : delays()) {
    const Clock& clock = format(inputs(delay.stage)[0]).clock;
    const auto ms = [this](std::int64_t units) {
      return 1e3 * static_cast<double>(units) / static_cast<double>(format(0).clock.sample_rate);
    };
    const auto number = [&](const char* name, double value) {
      return std::string(",\"") + name + "\":" + (delay.known ? json_number(value, 3) : "null");
    };
    const StepTimes& steps = times_of(delay.stage);
    const auto with_step = [&](double microseconds) { return ms(delay.total()) + microseconds * 1e-3; };
    text += comma + std::string("{\"output\":") + json_string(stage(delay.stage).label) +
            number("lookahead_ms", ms(delay.lookahead)) + number("block_ms", ms(delay.block)) +
            number("device_ms", ms(delay.device)) + number("delay_ms", ms(delay.total())) +
            ",\"frame_ms\":" + json_number(frame_ms(clock), 3) +
            ",\"window_ms\":" + json_number(window_ms(clock), 3) +
            number("p50_ms", with_step(steps.quantile(0.5))) +
            number("p99_ms", with_step(steps.quantile(0.99))) + number("max_ms", with_step(steps.largest())) +
            "}";
    comma = ",";
  }
  return text + "]";
}

}  // namespace runnel::pipeline
