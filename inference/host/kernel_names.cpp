#include "inference/host/kernel_names.h"

namespace runnel {

std::string KernelNames::of(int op) const {
  const Reported& one = choices_[static_cast<std::size_t>(op)];
  if (!one.reported) return "plain";
  std::string name(name_of(one.choice.isa));
  if (one.choice.form[0] != 0) name.append(" ").append(one.choice.form);
  return name;
}

}  // namespace runnel
