#include "services/batch/rows.h"

#include <optional>
#include <utility>

namespace runnel::batch {

bool Rows::fits(const std::string& index) {
  if (format_ != OutputFormat::npy || index.empty()) return true;
  const std::optional<RowShape> shape = shape_in(index);
  if (!shape) return true;  // a failure
  if (shape_.values == 0) shape_ = *shape;
  return *shape == shape_;
}

void Rows::settle(Outcome& outcome, const Recording& recording) {
  if (!is_lines(format_) && outcome.counts.code != Code::ok && outcome.index.empty() &&
      !outcome.records.empty()) {
    outcome.records.pop_back();
    outcome.index = std::exchange(outcome.records, {});
  }
  if (fits(outcome.index)) return;
  Outcome error;
  add_error(error, recording.path,
            Status(Code::mismatch) << "its rows are not of " << shape_.values << " values of "
                                   << name_of(shape_.dtype) << ", as those before them");
  error.records.pop_back();
  outcome.index = with_fields(error.records, recording);
  outcome.records.clear();
  outcome.counts.code = Code::mismatch;
}

}  // namespace runnel::batch
