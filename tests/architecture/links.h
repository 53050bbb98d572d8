// What the pages of the tree refer to exists.
#pragma once

#include <filesystem>
#include <vector>

#include "tests/architecture/source_tree.h"

namespace runnel::test {

// Every Markdown page of the root, docs/ and the folders of code, models, training, scripts and tests is
// read. Three rules, outside of blocks of code:
//   * a relative link leads to a file or folder, from the page; its #anchor is a heading there
//   * `path/of/a/file.h` that begins with a folder of the root is a file or folder of the tree
//   * any other `file.h`, `.cpp`, `.cmake`, `.fbs` or `.tsv` is the end of a path of the tree, or a file that
//   the
//     page has its reader make (a block of code that begins with ```cpp file=main.cpp)
// Wildcards and placeholders (`*`, `NAME`, `<x>`, `{a,b}`) are left out.
std::vector<Fault> check_links(const std::filesystem::path& root);

}  // namespace runnel::test
