// --http: a page that shows a running graph, for the verbs that run one.
#pragma once

#include <memory>
#include <string>

#include "apps/support.h"
#include "pipeline/host/graph.h"
#include "pipeline/host/page/live_page.h"

namespace runnel::apps {

// A token of a file, else of the variable RUNNEL_TOKEN; empty: there is none. Errors: not_found, invalid_data unless it has 16 to 1000 bytes.
Result<std::string> token_of(const std::string& token_file);

struct PageFlags {
  std::string address, token_file;
  double speed = 0;
};
void add_page_flags(CLI::App* verb, PageFlags& flags);

// Nothing, where no address was given. Says where the page is, and lets `options` watch; `show()` comes when the graph is made.
Result<std::unique_ptr<page::LivePage>> start_page(const PageFlags& flags, pipeline::GraphOptions& options);

}  // namespace runnel::apps
