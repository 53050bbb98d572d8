#include "compiler/quantize/options.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace runnel::compiler::quantizer {
namespace {

using kernels::Rounding;

constexpr TargetRules kTargets[] = {
    {"generic", Rounding::half_even, true, 32, 64, false},
    {"esp32", Rounding::half_up, false, 32, 64, true},
    {"esp32s3", Rounding::half_up, false, 20, 40, true},
    {"esp32p4", Rounding::half_even, true, 32, 40, true},
    {"ethos-u", Rounding::half_up, true, 32, 40, false, true},
};
// Every accelerator computes alike.
constexpr std::string_view kEthosU[] = {"ethos-u55-32",  "ethos-u55-64",   "ethos-u55-128", "ethos-u55-256",
                                        "ethos-u65-256", "ethos-u65-512",  "ethos-u85-128", "ethos-u85-256",
                                        "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048"};

constexpr std::pair<std::string_view, Calibration> kCalibrations[] = {{"minmax", Calibration::min_max},
                                                                      {"percentile", Calibration::percentile},
                                                                      {"kl", Calibration::kl},
                                                                      {"mse", Calibration::mse}};

struct MethodName {
  std::string_view name;
  bool Methods::*field;
};
constexpr MethodName kMethods[] = {{"equalize", &Methods::equalize}, {"round", &Methods::round},
                                   {"bias", &Methods::correct_bias}, {"search", &Methods::search},
                                   {"split", &Methods::split},       {"sums", &Methods::sums},
                                   {"blocks", &Methods::blocks},     {"tqt", &Methods::tqt}};

}  // namespace

Result<TargetRules> target_rules(std::string_view name) {
  if (name == "c") name = "esp32";
  if (std::find(std::begin(kEthosU), std::end(kEthosU), name) != std::end(kEthosU)) name = "ethos-u";
  for (const TargetRules& rules : kTargets) {
    if (rules.name == name) return rules;
  }
  return Status(Code::invalid_argument)
         << "target \"" << name
         << "\", expected generic, esp32 (c), esp32s3, esp32p4, or ethos-u "
            "(ethos-u55-32 to -256, ethos-u65-256, -512, ethos-u85-128 to -2048)";
}

std::string_view name_of(Calibration calibration) {
  for (const auto& entry : kCalibrations) {
    if (entry.second == calibration) return entry.first;
  }
  return "";
}

Result<Calibration> calibration_named(std::string_view name) {
  for (const auto& entry : kCalibrations) {
    if (entry.first == name) return entry.second;
  }
  return Status(Code::invalid_argument)
         << "calibration \"" << name << "\", expected minmax, percentile, kl or mse";
}

Status set_method(Methods& methods, std::string_view name, bool on) {
  for (const MethodName& method : kMethods) {
    if (method.name != name) continue;
    methods.*method.field = on;
    return {};
  }
  return Status(Code::invalid_argument)
         << "method \"" << name << "\", expected equalize, round, bias, search, split, sums, blocks or tqt";
}

std::string names_of(const Methods& methods) {
  std::string text;
  for (const MethodName& method : kMethods) {
    if (methods.*method.field) text += (text.empty() ? "" : ", ") + std::string(method.name);
  }
  return text.empty() ? "none" : text;
}

Methods usual_methods() {
  Methods methods;
  methods.sums = true;
  return methods;
}

Result<Methods> methods_named(std::string_view names) {
  Methods methods;
  for (const MethodName& method : kMethods) methods.*method.field = false;
  while (!names.empty() && names != "none") {
    const std::size_t end = std::min(names.find(", "), names.size());
    RUNNEL_TRY(set_method(methods, names.substr(0, end), true));
    names.remove_prefix(std::min(end + 2, names.size()));
  }
  return methods;
}

}  // namespace runnel::compiler::quantizer
