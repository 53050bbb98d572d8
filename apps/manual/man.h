// Man pages, section 1.
#pragma once

#include <string>
#include <vector>

#include "apps/manual/table.h"

namespace runnel::apps {

struct ManPage {
  std::string name;  // "runnel-listen.1"
  std::string text;  // in the macros of man(7)
};

// A page for the program and one for each verb; subverbs are sections of their verb's page. `date`: as
// 2026-11-26.
std::vector<ManPage> man_pages(const VerbFacts& program, const std::string& version, const std::string& date);

}  // namespace runnel::apps
