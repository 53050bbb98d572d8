// Finds recordings of the truth by the names that a run has for them.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "services/score/score.h"

namespace runnel::pipeline {

// Names match if they are equal, or one path is the end of the other.
class RecordingNames {
 public:
  explicit RecordingNames(const Truth& truth);
  // The name in the truth; empty if there is none. Error: mismatch for two of them.
  [[nodiscard]] Result<std::string> find(const std::string& source) const;

 private:
  std::map<std::string, std::set<std::string>> names_;  // by file name
};

}  // namespace runnel::pipeline
