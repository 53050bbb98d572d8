// The verbs and options of the program as a table: what help, man pages and completions are made from.
#pragma once

#include <string>
#include <vector>

namespace runnel::apps {

struct OptionFacts {
  std::vector<std::string> names;  // "-o", "--output"; of an argument: its word, "MODEL"
  std::string value;               // kind of its value: "TEXT", "INT"; empty: a flag
  std::string range;               // "INT in [1 - 32]"; empty: none
  std::vector<std::string> choices;
  std::string help;
  std::string default_text;  // empty: none is shown
  std::string heading;       // empty: among the others
  bool positional = false, required = false, repeated = false;
};

struct VerbFacts {
  std::string name, help, footer, example;
  std::string door;  // the heading under which the overview has it
  std::vector<OptionFacts> options;
  std::vector<VerbFacts> verbs;
};

}  // namespace runnel::apps
