// The nodes of a graph that act on events, together: started with the run, asked for news, and accounted for
// at its end.
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
  // The action outlives this object; `label` too.
  void add(std::string_view label, Action& action) { actions_.push_back({label, &action}); }

  // Before the first sample; once.
  Status start();
  // What people should know now.
  void tell(const std::function<void(std::string_view)>& note);
  // For the summary: "" without actions, else `,"actions":[...]`.
  [[nodiscard]] std::string summary() const;
  // When all are finished. Error: io_error when an event was not acted upon.
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
