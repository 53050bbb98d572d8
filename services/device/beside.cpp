#include "services/device/beside.h"

#include <fmt/format.h>

#include <cstddef>

#include "inference/model/model_sum.h"

namespace runnel::device {

Status check_model(const Report& report, const Model& model) {
  if (const std::uint32_t sum = model_sum(model); sum != report.model_sum)
    return Status(Code::mismatch) << fmt::format(
               "the report is of a model with checksum {:08x}, expected {:08x}, that of the given model",
               report.model_sum, sum);
  const std::uint64_t covered =
      report.operators.empty() ? 0 : report.operators.back().first + report.operators.back().count;
  if (covered != static_cast<std::uint64_t>(model.operator_count()))
    return Status(Code::mismatch) << "the report has " << covered << " operators, the model "
                                  << model.operator_count();
  return {};
}

std::vector<Row> beside(const Report& report, const Profile& profile) {
  double all = 0;
  for (const OperatorTime& one : report.operators)
    all += one.runs > 0 ? static_cast<double>(one.cycles) / static_cast<double>(one.runs) : 0;
  std::vector<Row> rows;
  std::size_t there = 0, here = 0;
  int end_there = 0, end_here = 0;  // operators that the row has taken
  while (there < report.operators.size() || here < profile.steps.size()) {
    Row row;
    row.first = end_here;
    do {
      if (end_there <= end_here && there < report.operators.size()) {
        const OperatorTime& one = report.operators[there++];
        end_there = static_cast<int>(one.first + one.count);
        row.runs = one.runs;
        row.most += one.most;
        row.cycles += one.runs > 0 ? static_cast<double>(one.cycles) / static_cast<double>(one.runs) : 0;
      }
      if (end_here < end_there && here < profile.steps.size()) {
        const StepProfile& step = profile.steps[here++];
        end_here = step.operators.back() + 1;
        row.type += (row.type.empty() ? "" : "+") + step.type;
        row.name += (row.name.empty() || step.name.empty() ? "" : " + ") + step.name;
        row.desk_microseconds += step.microseconds;
        row.desk_share += step.share;
      }
    } while (end_here != end_there &&
             (end_here < end_there ? here < profile.steps.size() : there < report.operators.size()));
    row.count = end_here - row.first;
    row.share = all > 0 ? row.cycles / all : 0;
    if (report.hz > 0) row.microseconds = 1e6 * row.cycles / static_cast<double>(report.hz);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace runnel::device
