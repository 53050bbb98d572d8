// --http and --ui: a page and a line of the terminal that show a running graph, for the verbs that run one.
#pragma once

#include <memory>
#include <string>

#include "apps/command_line.h"
#include "apps/support.h"
#include "pipeline/host/graph.h"
#include "services/page/live_page.h"
#include "services/page/terminal_view.h"

namespace runnel::apps {

// A token of a file, else of the variable RUNNEL_TOKEN; empty: there is none. Errors: not_found, invalid_data
// unless it has 16 to 1000 bytes.
Result<std::string> token_of(const std::string& token_file);

struct PageFlags {
  std::string address, token_file;
  double speed = 0;
  bool ui = false;
};
void add_page_flags(Verb verb, PageFlags& flags);

// What shows a run; nothing, where no flag asks for it. Outlives the graph.
class Display {
 public:
  // Says where the page is, and lets `options` watch. Errors: those of LivePage::start.
  static Result<std::unique_ptr<Display>> start(const PageFlags& flags, pipeline::GraphOptions& options);
  // The graph that is going to run.
  void show(pipeline::Graph& graph);
  // The run is over; what is written next has the terminal to itself.
  void end();

 private:
  std::unique_ptr<page::LivePage> page_;
  std::unique_ptr<page::TerminalView> terminal_;
};

}  // namespace runnel::apps
