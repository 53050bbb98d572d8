// page.html, as the build has put it into the program.
#pragma once

#include <string_view>

namespace runnel::page {

extern const std::string_view kDocument;

}  // namespace runnel::page
