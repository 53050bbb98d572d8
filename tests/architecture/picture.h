// The picture of the folders in docs/architecture.md against the #include lines of the tree.
#pragma once

#include <filesystem>
#include <vector>

#include "tests/architecture/source_tree.h"

namespace runnel::test {

inline constexpr const char* kPicturePage = "docs/architecture.md";

// The picture is the first ```mermaid block of the page, with one arrow a line: `a["..."]:::device --> b`.
// Three rules: every folder of product code is drawn, as device or as host as it is; every arrow stands for
// an #include; and for every #include from one folder into another the arrows lead from the one to the other.
// An arrow that longer ways make superfluous may be left out.
std::vector<Fault> check_picture(const std::filesystem::path& root);

}  // namespace runnel::test
