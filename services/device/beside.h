// The figures of a device beside those of this machine, operator by operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/host/profile.h"
#include "services/device/report.h"

namespace runnel::device {

// Operators that both machines compute in one step, or in several that no one of them separates.
struct Row {
  int first = 0, count = 0;
  std::string type, name;
  double desk_microseconds = 0, desk_share = 0;  // of a run; shares are 0 to 1
  std::uint64_t runs = 0;                        // on the device
  double cycles = 0, share = 0;                  // of a run there, mean
  std::uint64_t most = 0;                        // cycles: sum of the longest runs of its steps
  std::optional<double> microseconds;            // of a run there; none without its clock
};

// Whether the report is of this model: mismatch, naming both, for another one.
Status check_model(const Report& report, const Model& model);

// Rows in the order of the model's operators. `profile` is of the same model, its steps in order.
std::vector<Row> beside(const Report& report, const Profile& profile);

}  // namespace runnel::device
