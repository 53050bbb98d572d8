// All nodes of a graph that act on events: starts them with the run, collects their messages, and sums up
// their results at the end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/nodes/host/act/action.h"

namespace runnel::pipeline {

class Actions {
 public:
  // The action and `label` outlive this object.
  void add(std::string_view label, Action& action) { actions_.push_back({label, &action}); }

  // Before the first sample; once.
  Status start();
  // New messages for the user.
  void tell(const std::function<void(std::string_view)>& note);
  // For the summary: "" without actions, else `,"actions":[...]`.
  [[nodiscard]] std::string summary() const;
  // Call when all are finished. Error: io_error when an action on an event failed or was dropped.
  [[nodiscard]] Status outcome() const;

 private:
  struct Named {
    std::string_view label;
    Action* action = nullptr;
  };
  std::vector<Named> actions_;
  bool started_ = false;
};

}  // namespace runnel::pipeline
