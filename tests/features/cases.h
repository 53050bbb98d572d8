// The oracle cases as options of the front end.
#pragma once

#include <nlohmann/json.hpp>

#include "features/fbank/fbank_options.h"
#include "features/microfrontend/microfrontend_options.h"

namespace runnel::test {

// Of an entry of cases.json; a test failure when an option is unknown.
features::FbankOptions fbank_options_of(const nlohmann::json& one);
// The preset after an entry of microfrontend.json, and whether PCAN is on.
struct MicrofrontendCase {
  const char* preset = "";
  bool pcan = true;
  [[nodiscard]] features::MicrofrontendOptions options() const;
};
MicrofrontendCase microfrontend_case_of(const nlohmann::json& one);

}  // namespace runnel::test
