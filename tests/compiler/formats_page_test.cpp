// The tables of operators in docs/formats.md are what the importers say. RUNNEL_UPDATE_DOCS=1 writes them
// anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "compiler/import/onnx/importer.h"
#include "compiler/import/pte/importer.h"
#include "compiler/import/tflite/importer.h"

namespace runnel::compiler {
namespace {

std::string onnx_table() {
  std::string plain, table = "| operator | remarks |\n|---|---|\n";
  for (const ListedOperator& entry : onnx_operators()) {
    if (entry.remarks.empty())
      plain += (plain.empty() ? "" : ", ") + entry.name;
    else
      table += "| " + entry.name + " | " + std::string(entry.remarks) + " |\n";
  }
  return table + "\nWithout remarks: " + plain + ".\n";
}

std::string tflite_table() {
  std::string table = "| operator | types |\n|---|---|\n";
  for (const auto& [name, types] : tflite_operators())
    table += "| " + std::string(name) + " | " + std::string(types) + " |\n";
  return table;
}

// Those without remarks are said in one line.
std::string pte_table() {
  std::string plain, table = "| kernel | remarks |\n|---|---|\n";
  for (const auto& [name, remarks] : pte_kernels()) {
    if (remarks.empty())
      plain += (plain.empty() ? "" : ", ") + std::string(name);
    else
      table += "| " + std::string(name) + " | " + std::string(remarks) + " |\n";
  }
  return table + "\nWithout remarks: " + plain + ".\n";
}

// What stands between the lines that mark a table.
void put(std::string& page, const std::string& name, const std::string& table) {
  const std::string first = "<!-- " + name + ": made by formats_page_test -->\n",
                    last = "<!-- end of " + name + " -->\n";
  const std::size_t begin = page.find(first), end = page.find(last);
  ASSERT_NE(begin, std::string::npos) << first;
  ASSERT_NE(end, std::string::npos) << last;
  page = page.substr(0, begin + first.size()) + table + page.substr(end);
}

TEST(FormatsPage, TablesAreUpToDate) {
  const std::string path = RUNNEL_SOURCE_FOLDER "/docs/formats.md";
  std::ifstream file(path);
  const std::string found((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string page = found;
  put(page, "onnx", onnx_table());
  put(page, "tflite", tflite_table());
  put(page, "pte", pte_table());
  if (std::getenv("RUNNEL_UPDATE_DOCS") != nullptr)
    std::ofstream(path) << page;
  else
    EXPECT_TRUE(found == page)
        << path << " is out of date: run this test with RUNNEL_UPDATE_DOCS=1 (scripts/formats.sh)";
}

}  // namespace
}  // namespace runnel::compiler
