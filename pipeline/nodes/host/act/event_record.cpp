#include "pipeline/nodes/host/act/event_record.h"

#include <algorithm>

#include "pipeline/host/json.h"
#include "pipeline/transcript.h"

namespace runnel::pipeline {

EventRecords::EventRecords(std::string_view source, const Format& input)
    : source_(source.empty() ? input.source : source),
      source_json_(json_string(source_)),
      sample_rate_(input.clock.sample_rate) {}

void EventRecords::name_source(std::string_view name) {
  source_ = name;
  source_json_ = json_string(source_);
}

// In seconds and the rest, so that nothing overflows.
void EventRecords::begin_at(std::int64_t first, std::int64_t rate) {
  first_ = first / rate * sample_rate_ + (first % rate * sample_rate_ + rate / 2) / rate;
}

std::string EventRecords::seconds(std::int64_t at) const { return json_seconds(at + first_, sample_rate_); }

std::string EventRecords::heard(std::string_view name, const HeardText& text) const {
  return "{\"" + std::string(name) + "\":" + json_string(text.text) + ",\"start\":" + seconds(text.begin) +
         ",\"end\":" + seconds(text.end) +
         ",\"confidence\":" + json_number(static_cast<double>(text.confidence), 4) + "}";
}

std::string EventRecords::transcript(const Event& event) const {
  const Transcript& heard_text = *event.transcript;
  std::string line = std::string("{\"type\":\"") + (heard_text.final ? "final" : "partial") +
                     "\",\"source\":" + source_json_ + ",\"segment\":" + std::to_string(heard_text.segment) +
                     ",\"start\":" + seconds(event.begin) + ",\"end\":" + seconds(event.end) +
                     ",\"text\":" + json_string(heard_text.text) + ",\"tokens\":[";
  for (const HeardText& token : heard_text.tokens)
    line += (line.back() == '[' ? "" : ",") + heard("token", token);
  line += "],\"words\":[";
  for (const HeardText& word : heard_text.words)
    line += (line.back() == '[' ? "" : ",") + heard("word", word);
  return line + "],\"stable\":" + std::to_string(heard_text.stable) + "}";
}

std::string EventRecords::event(const Event& event) const {
  if (event.transcript != nullptr) return transcript(event);
  return "{\"type\":\"event\",\"source\":" + source_json_ + ",\"label\":" + json_string(event.label) +
         ",\"score\":" + json_number(static_cast<double>(event.score), 4) +
         ",\"start\":" + seconds(event.begin) + ",\"end\":" + seconds(event.end) +
         ",\"frame\":" + std::to_string(event.frame) + "}";
}

std::string EventRecords::gap(const Gap& gap) const {
  return "{\"type\":\"gap\",\"source\":" + source_json_ + ",\"start\":" + seconds(gap.start) +
         ",\"end\":" + seconds(gap.end) + ",\"lost_samples\":" + std::to_string(gap.lost) + "}";
}

EventFields EventRecords::fields(const Event& event) const {
  return {{"label", std::string(event.label)},
          {"score", json_number(static_cast<double>(event.score), 4)},
          {"start", seconds(event.begin)},
          {"end", seconds(event.end)},
          {"frame", std::to_string(event.frame)},
          {"source", source_},
          {"json", this->event(event)}};
}

std::string filled_in(std::string_view text, const EventFields& fields) {
  std::string result;
  while (!text.empty()) {
    const std::size_t close = text.front() == '{' ? text.find('}') : std::string_view::npos;
    const auto field = close == std::string_view::npos
                           ? fields.end()
                           : std::find_if(fields.begin(), fields.end(), [&](const auto& known) {
                               return known.first == text.substr(1, close - 1);
                             });
    if (field == fields.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += field->second;
      text.remove_prefix(close + 1);
    }
  }
  return result;
}

}  // namespace runnel::pipeline
