// page.html, embedded by the build.
#pragma once

#include <string_view>

namespace runnel::page {

extern const std::string_view kDocument;

}  // namespace runnel::page
