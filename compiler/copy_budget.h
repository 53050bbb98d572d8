// How much a reader may copy out of a file: a few times its size. Offsets of FlatBuffers may lead to one
// vector or text from as many places as the file has room for, so that a small file asks for copies without
// end.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace runnel {

class CopyBudget {
 public:
  // Files that share names among many tables ask for a few times their size; 16 times is no honest one.
  explicit CopyBudget(std::size_t file_bytes) noexcept
      : file_(file_bytes), left_(16 * file_bytes + (std::size_t{1} << 16)) {}

  // Of what is copied, and of what is made for each table. False: no more than so, from now on.
  bool spend(std::size_t bytes) noexcept {
    over_ = over_ || bytes > left_;
    if (!over_) left_ -= bytes;
    return !over_;
  }
  // Not ok when something was not copied: what was read since is not what the file says.
  [[nodiscard]] Status status() const {
    if (!over_) return {};
    return Status(Code::invalid_data)
           << "its tables lead to the same lists and texts so often that copies take "
              "more than 16 times its "
           << file_ << " bytes";
  }

 private:
  std::size_t file_, left_;
  bool over_ = false;
};

}  // namespace runnel
