// runnel serve: many concurrent streams over TCP.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>

#include "apps/graphs.h"
#include "apps/page.h"
#include "apps/verbs.h"
#include "base/host/small_file.h"
#include "pipeline/host/json.h"
#include "services/serve/metrics_page.h"
#include "services/serve/server.h"
#include "services/serve/web_page.h"

namespace runnel::apps {
namespace {

struct ServeCall {
  ModelGraph graph;
  ModelFlags flags;
  std::string listen = "127.0.0.1:0", metrics, http, token_file, tls_certificate, tls_key;
  serve::ServerOptions server;
  int most_web_streams = 64;
  double gather = 10, greeting = 5, idle = 30, drain = 10;
  std::int64_t longest_message = 1 << 18;
};

serve::Server* running = nullptr;

// A text with "!" or a .rnlg file is a graph; anything else is a model file.
bool is_graph(const std::string& text) {
  return text.find('!') != std::string::npos || text.ends_with(".rnlg");
}

Result<std::string> text_of(const ServeCall& call, compiler::FileLoader& loader) {
  if (is_graph(call.graph.model)) {
    if (!call.graph.front_end.empty() || !call.graph.decision.empty() || call.graph.chunk > 0) {
      return Status(Code::invalid_argument,
                    "--front-end, --decision and --chunk are for models; a graph says these itself");
    }
    return call.graph.model.ends_with(".rnlg") ? read_small_file(call.graph.model) : call.graph.model;
  }
  const auto model = loader.load(call.graph.model);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!model.ok()) return model.status();
  return text_around(call.graph, **model);
}

// Raises the limit of open sockets to the system's maximum.
void raise_socket_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void stop_on_signals(serve::Server& server) {
  running = &server;
  struct sigaction action = {};
  action.sa_handler = [](int) { running->stop(); };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Status run_serve(const ServeCall& call) {
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  serve::ServerOptions options = call.server;
  RUNNEL_ASSIGN(options.around, text_of(call, loader));
  RUNNEL_ASSIGN(options.address, net::Address::parse(call.listen));
  RUNNEL_ASSIGN(options.token, token_of(call.token_file));
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  options.gather = milliseconds(call.gather / 1000);
  options.greeting = milliseconds(call.greeting);
  options.idle = milliseconds(call.idle);
  options.drain = milliseconds(call.drain);
  options.longest_message = static_cast<std::size_t>(call.longest_message);
  options.graph = graph_options(loader);
  options.graph.stop = nullptr;
  raise_socket_limit();
  RUNNEL_ASSIGN(const std::unique_ptr<serve::Server> server, serve::Server::make(options));
  std::unique_ptr<serve::MetricsPage> page;
  if (!call.metrics.empty()) {
    RUNNEL_ASSIGN(const net::Address at, net::Address::parse(call.metrics));
    RUNNEL_ASSIGN(page, serve::MetricsPage::start(at, options.token, [&] {
                    return server->metrics().prometheus(options.max_streams);
                  }));
  }
  std::unique_ptr<serve::WebPage> web;
  if (!call.http.empty()) {
    RUNNEL_ASSIGN(const net::Address at, net::Address::parse(call.http));
    RUNNEL_ASSIGN(web, serve::WebPage::start({.address = at,
                                              .token = options.token,
                                              .tls_certificate = call.tls_certificate,
                                              .tls_key = call.tls_key,
                                              .most_streams = call.most_web_streams},
                                             *server));
    say("page: " + web->origin() + "/" + (options.token.empty() ? "" : "?token=TOKEN"));
  }
  stop_on_signals(*server);
  const std::string metrics =
      page == nullptr ? "null" : pipeline::json_string("http://" + page->address().text() + "/metrics");
  std::printf("{\"type\":\"listening\",\"address\":%s,\"metrics\":%s,\"http\":%s}\n",
              pipeline::json_string(server->address().text()).c_str(), metrics.c_str(),
              web == nullptr ? "null" : pipeline::json_string(web->origin()).c_str());
  std::fflush(stdout);
  const Status status = server->run();
  page.reset();
  web.reset();
  std::printf("%s\n", server->summary().c_str());
  return status;
}

}  // namespace

void add_serve(Verb verb, int& exit_code) {
  auto call = std::make_shared<ServeCall>();
  verb.positional("MODEL", call->graph.model,
                  "Name or file of a model with its front end and decision; or a graph between samples and "
                  "events, as "
                  "text or a .rnlg file")
      .required();
  verb.option("--listen", call->listen,
              "IP:PORT to listen on; port 0: any free port. Other addresses than loopback need a token");
  verb.option("--token-file", call->token_file,
              "File with the token for clients, 16 to 1000 bytes (default: the variable RUNNEL_TOKEN)");
  verb.option("--metrics", call->metrics,
              "IP:PORT of a page with metrics for Prometheus, /metrics (default: none); requires the token, "
              "too, if there is one");
  verb.option(
      "--http", call->http,
      "IP:PORT of a page with the streams, of /metrics, and of streams over WebSocket, /stream (default: "
      "none); requires the token, too, if there is one");
  add_tls_flags(verb, call->tls_certificate, call->tls_key);
  verb.option("--max-web-streams", call->most_web_streams,
              "Most streams over WebSocket at a time; each has a thread")
      .range(1, 1000)
      .needs(verb.find("--http"));
  verb.option("--max-streams", call->server.max_streams,
              "Most streams at a time; further clients are refused")
      .range(1, 65536);
  verb.option("--most-load", call->server.most_load,
              "Share of a thread's time that its streams may take when all send in real time; clients beyond "
              "are refused (0: no limit)")
      .range(0.0, 1.0);
  verb.option("--threads", call->server.threads, "Threads; each processes the streams of its own clients")
      .range(1, 32);
  verb.option("--gather", call->gather,
              "Least milliseconds between the starts of two steps, so that many streams share one")
      .range(0.0, 1000.0);
  verb.option("--chunk", call->graph.chunk,
              "Frames per run of the model; more is faster with more latency (0: the smallest possible, or "
              "what has arrived)")
      .range(0, 1 << 20);
  verb.option("--idle", call->idle, "Seconds without a byte after which a client is disconnected")
      .range(0.1, 86400.0);
  verb.option("--greeting", call->greeting, "Seconds to wait for the first message of a client")
      .range(0.1, 3600.0);
  verb.option("--drain", call->drain, "Seconds after SIGTERM to flush streams").range(0.1, 3600.0);
  verb.option("--longest-message", call->longest_message, "Most bytes per message").range(4096, 1 << 24);
  verb.option("--front-end", call->graph.front_end, "Graph text before the model (default: the model's own)");
  verb.option("--decision", call->graph.decision, "Graph text after the model (default: the model's own)");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = run_serve(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
