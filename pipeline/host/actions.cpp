#include "pipeline/host/actions.h"

#include "pipeline/host/json.h"

namespace runnel::pipeline {

Status Actions::start() {
  if (started_) return {};
  started_ = true;
  for (const Named& named : actions_) {
    if (const Status status = named.action->start(); !status.ok()) return status.at(named.label);
  }
  return {};
}

void Actions::tell(const std::function<void(std::string_view)>& note) {
  if (!note) return;
  for (const Named& named : actions_) {
    if (const std::string news = named.action->take_news(); !news.empty())
      note(std::string(named.label) + ": " + news);
  }
}

std::string Actions::summary() const {
  if (actions_.empty()) return {};
  std::string text;
  for (const Named& named : actions_) {
    const ActionFacts facts = named.action->facts();
    text += (text.empty() ? ",\"actions\":[{\"output\":" : ",{\"output\":") + json_string(named.label) +
            ",\"events\":" + std::to_string(facts.events) + ",\"done\":" + std::to_string(facts.done) +
            ",\"failed\":" + std::to_string(facts.failed) + ",\"dropped\":" + std::to_string(facts.dropped) +
            "}";
  }
  return text + "]";
}

Status Actions::outcome() const {
  for (const Named& named : actions_) {
    const ActionFacts facts = named.action->facts();
    if (facts.failed + facts.dropped == 0) continue;
    return Status(Code::io_error) << named.label << ": of " << facts.events << " records, " << facts.failed
                                  << " failed and " << facts.dropped << " were dropped";
  }
  return {};
}

}  // namespace runnel::pipeline
