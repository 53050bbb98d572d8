// The names of the kernels that compute the operators of a model, for reports.
#pragma once

#include <string>
#include <vector>

#include "inference/operator.h"

namespace runnel {

// Records what is chosen while a model is prepared (PrepareOptions::kernels).
class KernelNames final : public KernelObserver {
 public:
  explicit KernelNames(int operators) : choices_(static_cast<std::size_t>(operators)) {}
  void chosen(int op, KernelChoice choice) noexcept override {
    choices_[static_cast<std::size_t>(op)] = {true, choice};
  }
  // "avx512vnni dense", "reference"; "plain" for operators that report nothing: they move data, or have one
  // loop for every machine.
  [[nodiscard]] std::string of(int op) const;
  // The plain loops that define the result compute it: no kernel serves this operator here.
  [[nodiscard]] bool on_reference(int op) const {
    const Reported& one = choices_[static_cast<std::size_t>(op)];
    return one.reported && one.choice.isa == Isa::reference;
  }

 private:
  struct Reported {
    bool reported = false;
    KernelChoice choice;
  };
  std::vector<Reported> choices_;
};

}  // namespace runnel
