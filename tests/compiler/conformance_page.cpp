// conformance_page RECORDS: the records of a conformance run (conformance_record.h) as a page of Markdown on
// stdout. Exit code 1 when something failed, 2 when there is nothing to read.
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string allowed(const Json& record) {
  const double absolute = record["absolute"], relative = record["relative"];
  if (absolute == 0 && relative == 0) return "0";
  return number(absolute) + (relative == 0 ? "" : " + " + number(relative) + " x");
}

struct Counts {
  std::map<std::string, int> by_result;
  int all = 0;
  void add(const Json& record) {
    ++by_result[record["result"].get<std::string>()];
    ++all;
  }
  [[nodiscard]] std::string text() const {
    std::string out = std::to_string(all) + ": ";
    for (const auto& [result, count] : by_result)
      out += (out.back() == ' ' ? "" : ", ") + std::to_string(count) + " " + result;
    return out;
  }
};

void print_cases(const std::vector<Json>& records) {
  std::printf(
      "| file | bits | target | kind | result | largest | allowed |\n|---|---|---|---|---|---|---|\n");
  for (const Json& r : records) {
    const std::string note = r["note"];
    std::printf("| %s | %d | %s | %s | %s%s | %s | %s |\n", r["file"].get<std::string>().c_str(),
                r["bits"].get<int>(), r["target"].get<std::string>().c_str(),
                r["kind"].get<std::string>().c_str(), r["result"].get<std::string>().c_str(),
                note.empty() ? "" : (": " + note).c_str(),
                r["largest"].is_null() ? "-" : number(r["largest"]).c_str(), allowed(r).c_str());
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: conformance_page RECORDS\n", stderr);
    return 2;
  }
  std::map<std::string, std::map<std::string, std::vector<Json>>> folders;  // folder, operator
  std::map<std::string, Counts> totals;
  Counts all;
  std::ifstream in(arguments[1]);
  for (std::string line; std::getline(in, line);) {
    const Json record = Json::parse(line);
    totals[record["folder"]].add(record);
    all.add(record);
    const bool grouped = record["folder"] == "conformance";
    folders[record["folder"]][grouped ? record["op"].get<std::string>() : ""].push_back(record);
  }
  if (all.all == 0) {
    std::fprintf(stderr, "conformance_page: %s has no records\n", arguments[1]);
    return 2;
  }
  std::printf(
      "# Conformance\n\n"
      "What every recorded `.espdl` file of the test data gives here. Made by `scripts/conformance.sh` from "
      "a run of the conformance tests; not\n"
      "written by hand. File names are relative to the folder in the heading.\n\n"
      "* **exact**: every recorded output is reproduced bit for bit, and where the model can be streamed, in "
      "blocks of several sizes as well.\n"
      "* **within**: the largest difference is no larger than what was recorded as allowed (for integers in "
      "their steps; `a + r x` is\n"
      "  a + r * |expected|): float outputs, and 16-bit operators whose recording was made with float "
      "arithmetic.\n"
      "* **ran**: imported, prepared and run; the file brings no values to compare with.\n"
      "* **steps**: the file keeps explicit caches and was run call by call with one session.\n\n");
  for (const auto& [folder, counts] : totals)
    std::printf("* `%s`: %s\n", folder.c_str(), counts.text().c_str());
  std::printf("\n");
  for (const auto& [folder, operators] : folders) {
    std::printf("## %s\n\n", folder.c_str());
    for (const auto& [op, records] : operators) {
      Counts counts;
      for (const Json& record : records) counts.add(record);
      if (!op.empty()) std::printf("### %s\n\n%s\n\n", op.c_str(), counts.text().c_str());
      print_cases(records);
    }
  }
  return all.by_result.contains("failed") ? 1 : 0;
}
