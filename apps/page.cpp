#include "apps/page.h"

#include <cstdlib>

#include "pipeline/host/page/feed.h"

namespace runnel::apps {

// From a file or the environment: other users can read command lines.
Result<std::string> token_of(const std::string& token_file) {
  std::string token;
  if (!token_file.empty()) {
    RUNNEL_ASSIGN(token, read_small_file(token_file));
  } else if (const char* variable = std::getenv("RUNNEL_TOKEN"); variable != nullptr) {
    token = variable;
  }
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) token.pop_back();
  const std::string_view from = token_file.empty() ? "RUNNEL_TOKEN" : std::string_view(token_file);
  if (token.empty() && !token_file.empty()) return Status(Code::invalid_data) << from << ": the token is empty";
  if (!token.empty() && (token.size() < 16 || token.size() > 1000)) return Status(Code::invalid_data) << from << ": a token of " << token.size() << " bytes, expected 16 to 1000";
  return token;
}

void add_page_flags(CLI::App* verb, PageFlags& flags) {
  verb->add_option("--http", flags.address, "IP:PORT of a page that shows what happens: sound, posteriors, events, cost of the nodes, losses; port 0: any that is free. Other addresses than loopback need a token");
  verb->add_option("--token-file", flags.token_file, "File with the token that readers of the page must show, 16 to 1000 bytes (default: the variable RUNNEL_TOKEN)");
  verb->add_option("--speed", flags.speed, "Recordings at most so many times as fast as they were made (0: as fast as possible)")->check(CLI::Range(0.0, 1000.0));
}

Result<std::unique_ptr<page::LivePage>> start_page(const PageFlags& flags, pipeline::GraphOptions& options) {
  options.speed = flags.speed;
  if (flags.address.empty()) return std::unique_ptr<page::LivePage>();
  RUNNEL_ASSIGN(const serve::Address address, serve::Address::parse(flags.address));
  RUNNEL_ASSIGN(std::string token, token_of(flags.token_file));
  const bool asks = !token.empty();
  RUNNEL_ASSIGN(auto page, page::LivePage::start(address, std::move(token)));
  say("page: " + page->url() + (asks ? "?token=TOKEN" : ""));
  options.time_nodes = true;
  options.amend = [nodes = options.nodes](pipeline::GraphText& text) { page::add_watches(text, nodes); };
  return page;
}

}  // namespace runnel::apps
