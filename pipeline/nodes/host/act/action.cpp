#include "pipeline/nodes/host/act/action.h"

#include <chrono>
#include <utility>

#include "pipeline/transcript.h"

namespace runnel::pipeline {

ActionFacts ActionBook::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

void ActionBook::add(std::int64_t ActionFacts::*count, std::string_view why, News& news) {
  const std::lock_guard lock(mutex_);
  if (count != nullptr) ++(facts_.*count);
  if (why.empty()) return;
  news.latest = why;
  ++news.untold;
}

std::string ActionBook::News::take() {
  if (untold == 0) return {};
  const double now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (told_at >= 0 && now - told_at < kQuietSeconds) return {};
  told_at = now;
  std::string text = std::exchange(latest, {});
  if (untold > 1) text += " (and " + std::to_string(untold - 1) + " more since then)";
  untold = 0;
  return text;
}

std::string ActionBook::take_news() {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (News* news : {&troubles_, &failures_, &drops_}) {
    const std::string text = news->take();
    if (!text.empty()) all += (all.empty() ? "" : "; ") + text;
  }
  return all;
}

Status Action::prepare(NodeContext& context) noexcept {
  records_ = EventRecords(source, context.input);
  return configure();
}

Status Action::process(const Block& in, Output&) noexcept {
  for (std::int64_t i = 0; i < in.count; ++i) {
    if (is_partial(in.as<Event>()[i]) && !takes_partial()) continue;
    book_.taken();
    act(in.as<Event>()[i]);
  }
  return {};
}

}  // namespace runnel::pipeline
