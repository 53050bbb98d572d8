#include "apps/page.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/host/small_file.h"
#include "services/page/watches.h"

namespace runnel::apps {

// From a file or the environment, because other users can read command lines.
Result<std::string> token_of(const std::string& token_file) {
  std::string token;
  if (!token_file.empty()) {
    RUNNEL_ASSIGN(token, read_small_file(token_file));
  } else if (const char* variable = std::getenv("RUNNEL_TOKEN"); variable != nullptr) {
    token = variable;
  }
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  const std::string_view from = token_file.empty() ? "RUNNEL_TOKEN" : std::string_view(token_file);
  if (token.empty() && !token_file.empty())
    return Status(Code::invalid_data) << from << ": the token is empty";
  if (!token.empty() && (token.size() < 16 || token.size() > 1000))
    return Status(Code::invalid_data)
           << from << ": a token of " << token.size() << " bytes, expected 16 to 1000";
  return token;
}

void add_tls_flags(Verb verb, std::string& certificate, std::string& key) {
  const Option http = verb.find("--http");
  const Option file =
      verb.option("--tls-cert", certificate,
                  "PEM file with the certificate of the page, which is then served over HTTPS: "
                  "browsers give pages of other machines no microphone without it")
          .needs(http);
  verb.option("--tls-key", key, "PEM file with the key of the certificate").needs(file);
}

void add_page_flags(Verb verb, PageFlags& flags) {
  verb.option("--http", flags.address,
              "IP:PORT of a live page with sound, posteriors, events, cost of the nodes, losses; port 0: any "
              "free port. Other addresses than loopback need a token");
  verb.flag("--ui", flags.ui,
            "A line in the terminal with level, posteriors and losses; none when stderr is not a terminal");
  verb.option("--token-file", flags.token_file,
              "File with the token for readers of the page, 16 to 1000 bytes (default: the "
              "variable RUNNEL_TOKEN)");
  add_tls_flags(verb, flags.tls_certificate, flags.tls_key);
  verb.option("--speed", flags.speed,
              "Play recordings at most at this multiple of real time (0: as fast as possible)")
      .range(0.0, 1000.0);
}

Result<std::unique_ptr<Display>> Display::start(const PageFlags& flags, pipeline::GraphOptions& options) {
  auto display = std::make_unique<Display>();
  options.speed = flags.speed;
  if (!flags.address.empty()) {
    RUNNEL_ASSIGN(const net::Address address, net::Address::parse(flags.address));
    RUNNEL_ASSIGN(std::string token, token_of(flags.token_file));
    const bool asks = !token.empty();
    RUNNEL_ASSIGN(display->page_, page::LivePage::start({.address = address,
                                                         .token = std::move(token),
                                                         .tls_certificate = flags.tls_certificate,
                                                         .tls_key = flags.tls_key}));
    say("page: " + display->page_->url() + (asks ? "?token=TOKEN" : ""));
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
