// --http and --ui: a page and a line in the terminal that show a running graph.
#pragma once

#include <memory>
#include <string>

#include "apps/call/access.h"
#include "apps/command_line.h"
#include "apps/support.h"
#include "pipeline/host/graph.h"
#include "services/page/live_page.h"
#include "services/page/terminal_view.h"

namespace runnel::apps {

struct PageFlags {
  std::string address;
  AccessFlags access;
  double speed = 0;
  bool ui = false;
};
void add_page_flags(Verb verb, PageFlags& flags);

// The views of a run; none without the flags. Outlives the graph.
class Display {
 public:
  // Prints the address of the page, and makes `options` insert watches. Errors: those of LivePage::start.
  static Result<std::unique_ptr<Display>> start(const PageFlags& flags, pipeline::GraphOptions& options);
  // Call with the graph that will run.
  void show(pipeline::Graph& graph);
  // Call after the run; clears the line in the terminal.
  void end();

 private:
  std::unique_ptr<page::LivePage> page_;
  std::unique_ptr<page::TerminalView> terminal_;
};

}  // namespace runnel::apps
