// runnel serve: many concurrent streams over TCP.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "apps/graphs.h"
#include "apps/page.h"
#include "apps/verbs.h"
#include "pipeline/host/json.h"
#include "services/serve/metrics_page.h"
#include "services/serve/server.h"
#include "services/serve/web_page.h"
#include "services/wyoming/server.h"

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
  std::string wyoming, language = "en";
  std::vector<std::string> also;  // further models of Wyoming
  bool wyoming_open = false;
};

serve::Server* running = nullptr;
wyoming::Server* running_wyoming = nullptr;

// Raises the limit of open sockets to the system's maximum.
void raise_socket_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void stop_on_signals(serve::Server& server, wyoming::Server* home) {
  running = &server;
  running_wyoming = home;
  struct sigaction action = {};
  action.sa_handler = [](int) {
    running->stop();
    if (running_wyoming != nullptr) running_wyoming->stop();
  };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// The addresses of a call, which are checked before anything is loaded.
struct Addresses {
  net::Address listen, metrics, http, wyoming;
};

Status parse_addresses(const ServeCall& call, Addresses& addresses) {
  RUNNEL_ASSIGN(addresses.listen, net::Address::parse(call.listen));
  if (!call.metrics.empty()) {
    RUNNEL_ASSIGN(addresses.metrics, net::Address::parse(call.metrics));
  }
  if (!call.http.empty()) {
    RUNNEL_ASSIGN(addresses.http, net::Address::parse(call.http));
  }
  if (!call.wyoming.empty()) {
    RUNNEL_ASSIGN(addresses.wyoming, net::Address::parse(call.wyoming));
  }
  return {};
}

// The name by which clients of Wyoming know a model or graph.
std::string name_of(const std::string& model) {
  if (model.find('!') != std::string::npos) return "graph";
  return std::filesystem::path(model).stem().string();
}

Result<std::unique_ptr<wyoming::Server>> wyoming_server(const ServeCall& call, const net::Address& address,
                                                        const serve::ServerOptions& serve,
                                                        compiler::FileLoader& loader) {
  wyoming::ServerOptions options;
  options.address = address;
  options.open = call.wyoming_open;
  options.language = call.language;
  options.graph = serve.graph;
  options.longest_message = serve.longest_message;
  options.idle = serve.idle;
  options.drain = serve.drain;
  options.max_clients = std::min(serve.max_streams, 1024);
  options.models.push_back({name_of(call.graph.model), serve.around});
  for (const std::string& model : call.also) {
    ModelGraph other;
    other.model = model;
    other.chunk = is_graph(model) ? 0 : call.graph.chunk;
    RUNNEL_ASSIGN(const std::string around, text_between(other, loader));
    options.models.push_back({name_of(model), around});
  }
  return wyoming::Server::make(std::move(options));
}

Status run_serve(const ServeCall& call, const Addresses& addresses) {
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  serve::ServerOptions options = call.server;
  RUNNEL_ASSIGN(options.around, text_between(call.graph, loader));
  options.address = addresses.listen;
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
    RUNNEL_ASSIGN(page, serve::MetricsPage::start(addresses.metrics, options.token, [&] {
                    return server->metrics().prometheus(options.max_streams);
                  }));
  }
  std::unique_ptr<wyoming::Server> home;
  if (!call.wyoming.empty()) {
    RUNNEL_ASSIGN(home, wyoming_server(call, addresses.wyoming, options, loader));
  }
  std::unique_ptr<serve::WebPage> web;
  if (!call.http.empty()) {
    RUNNEL_ASSIGN(web, serve::WebPage::start({.address = addresses.http,
                                              .token = options.token,
                                              .tls_certificate = call.tls_certificate,
                                              .tls_key = call.tls_key,
                                              .most_streams = call.most_web_streams},
                                             *server));
    say("page: " + web->origin() + "/" + (options.token.empty() ? "" : "?token=TOKEN"));
  }
  stop_on_signals(*server, home.get());
  const std::string metrics =
      page == nullptr ? "null" : pipeline::json_string("http://" + page->address().text() + "/metrics");
  const std::string wyoming =
      home == nullptr ? "" : ",\"wyoming\":" + pipeline::json_string(home->address().text());
  std::printf("{\"type\":\"listening\",\"address\":%s,\"metrics\":%s,\"http\":%s%s}\n",
              pipeline::json_string(server->address().text()).c_str(), metrics.c_str(),
              web == nullptr ? "null" : pipeline::json_string(web->origin()).c_str(), wyoming.c_str());
  // Nobody would know where to connect to.
  if (std::fflush(stdout) != 0) return Status(Code::io_error, "stdout cannot be written");
  Status of_home;
  std::thread at_home;
  if (home != nullptr) at_home = std::thread([&] { of_home = home->run(); });
  Status status = server->run();
  if (home != nullptr) {
    at_home.join();
    std::printf("%s\n", home->summary().c_str());
    if (status.ok()) status = of_home;
  }
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
  const Option wyoming =
      verb.option("--wyoming", call->wyoming,
                  "IP:PORT for the Wyoming protocol, by which Home Assistant asks for words, voices and "
                  "texts; port 0: any free port");
  verb.option("--also", call->also,
              "A further model or graph for clients of --wyoming, by its name (may be repeated)")
      .take_all()
      .default_str("")
      .needs(wyoming);
  verb.option("--language", call->language, "Language of the models, as clients of --wyoming are told")
      .needs(wyoming);
  verb.flag("--wyoming-open", call->wyoming_open,
            "Let other machines use --wyoming, which has no password: in networks that you trust")
      .needs(wyoming);
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    Addresses addresses;
    if (const Status wrong = parse_addresses(*call, addresses); !wrong.ok())
      exit_code = refuse(wrong);
    else if (const Status status = run_serve(*call, addresses); !status.ok())
      exit_code = fail(status);
  });
}

}  // namespace runnel::apps
