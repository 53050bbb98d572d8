#include "apps/page.h"

#include <unistd.h>

#include <cstdio>

#include "services/page/watches.h"

namespace runnel::apps {

void add_page_flags(Verb verb, PageFlags& flags) {
  verb.option("--http", flags.address,
              "IP:PORT of a live page with sound, posteriors, events, cost of the nodes, losses; port 0: any "
              "free port. Other addresses than loopback need a token");
  verb.flag("--ui", flags.ui,
            "A line in the terminal with level, posteriors and losses; none when stderr is not a terminal");
  add_access_flags(verb, flags.access, verb.find("--http"));
  verb.option("--speed", flags.speed,
              "Play recordings at most at this multiple of real time (0: as fast as possible)")
      .range(0.0, 1000.0);
}

Result<std::unique_ptr<Display>> Display::start(const PageFlags& flags, pipeline::GraphOptions& options) {
  auto display = std::make_unique<Display>();
  options.speed = flags.speed;
  if (!flags.address.empty()) {
    RUNNEL_ASSIGN(const net::Address address, net::Address::parse(flags.address));
    RUNNEL_ASSIGN(const net::Tokens tokens, tokens_of(flags.access));
    RUNNEL_ASSIGN(display->page_, page::LivePage::start({.address = address,
                                                         .tokens = tokens,
                                                         .tls = flags.access.tls,
                                                         .admission = admission_of(flags.access),
                                                         .names = flags.access.names}));
    say("page: " + display->page_->url() + (tokens.empty() ? "" : " (it asks for the token)"));
    warn_of_clear(address, flags.access.tls);
    options.time_nodes = true;
  }
  // Do not redraw a line in a file or a pipe.
  if (flags.ui && isatty(STDERR_FILENO) != 0) {
    display->terminal_ = std::make_unique<page::TerminalView>([](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stderr);
      std::fflush(stderr);
    });
  }
  if (display->page_ != nullptr || display->terminal_ != nullptr) {
    options.amend = [nodes = options.nodes](pipeline::GraphText& text) { page::add_watches(text, nodes); };
  }
  if (display->terminal_ != nullptr && options.note) {
    options.note = [view = display->terminal_.get(), note = options.note](std::string_view text) {
      view->clear();
      note(text);
    };
  }
  return display;
}

void Display::show(pipeline::Graph& graph) {
  if (page_ != nullptr) page_->show(graph);
  if (terminal_ != nullptr) terminal_->connect(graph);
  if (terminal_ != nullptr)
    graph.on_step([this](const pipeline::Graph& stepped) { terminal_->stepped(stepped); });
}

void Display::end() {
  if (terminal_ != nullptr) terminal_->clear();
}

}  // namespace runnel::apps
