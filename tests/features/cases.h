// The oracle cases as options of the front end.
#pragma once

#include <nlohmann/json.hpp>

#include "features/fbank/fbank_options.h"
#include "features/microfrontend/microfrontend_options.h"

namespace runnel::test {

// Options of an entry of cases.json; an unknown option is a test failure.
features::FbankOptions fbank_options_of(const nlohmann::json& one);
// The preset of an entry of microfrontend.json, and whether PCAN is on.
struct MicrofrontendCase {
  const char* preset = "";
  bool pcan = true;
  [[nodiscard]] features::MicrofrontendOptions options() const;
};
MicrofrontendCase microfrontend_case_of(const nlohmann::json& one);

}  // namespace runnel::test
