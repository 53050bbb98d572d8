// runnel serve: many concurrent streams over TCP.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include "apps/call/access.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "pipeline/host/json.h"
#include "services/net/access/rights.h"
#include "services/serve/metrics_page.h"
#include "services/serve/server.h"
#include "services/serve/web_page.h"
#include "services/wyoming/server.h"

namespace runnel::apps {
namespace {

struct ServeCall {
  ModelGraph graph;
  ModelFlags flags;
  std::string listen = "127.0.0.1:0", metrics, http, user;
  AccessFlags access;
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

// Callable from a signal handler, and from threads of the page: never before both are set.
void stop_all() noexcept {
  if (running != nullptr) running->stop();
  if (running_wyoming != nullptr) running_wyoming->stop();
}

void stop_on_signals(serve::Server& server, wyoming::Server* home) {
  running_wyoming = home;
  running = &server;
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_all(); };
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
  options.tls = serve.tls;
  options.admission = serve.admission;
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
  RUNNEL_ASSIGN(options.tokens, tokens_of(call.access));
  options.tls = call.access.tls;
  options.admission = admission_of(call.access);
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
    RUNNEL_ASSIGN(
        page, serve::MetricsPage::start({.address = addresses.metrics,
                                         .tokens = options.tokens,
                                         .tls = options.tls,
                                         .admission = options.admission,
                                         .names = call.access.names},
                                        [&] { return server->metrics().prometheus(options.max_streams); }));
  }
  std::unique_ptr<wyoming::Server> home;
  if (!call.wyoming.empty()) {
    RUNNEL_ASSIGN(home, wyoming_server(call, addresses.wyoming, options, loader));
  }
  stop_on_signals(*server, home.get());
  std::unique_ptr<serve::WebPage> web;
  const auto reload = [&]() -> Status {
    RUNNEL_TRY(options.tokens.reload());
    RUNNEL_TRY(server->reload());
    if (page != nullptr) RUNNEL_TRY(page->reload());
    if (home != nullptr) RUNNEL_TRY(home->reload());
    return web != nullptr ? web->reload() : Status();
  };
  if (!call.http.empty()) {
    RUNNEL_ASSIGN(web, serve::WebPage::start({.address = addresses.http,
                                              .tokens = options.tokens,
                                              .tls = options.tls,
                                              .admission = options.admission,
                                              .names = call.access.names,
                                              .most_streams = call.most_web_streams,
                                              .drain = [&] { stop_all(); },
                                              .reload = reload},
                                             *server));
    say("page: " + web->origin() + "/" + (options.tokens.empty() ? "" : " (it asks for the token)"));
  }
  for (const net::Address* const address :
       {&addresses.listen, &addresses.metrics, &addresses.http, &addresses.wyoming}) {
    if (address->size > 0) warn_of_clear(*address, options.tls);
  }
  // All sockets are bound and all keys are read.
  if (!call.user.empty()) RUNNEL_TRY(net::become_user(call.user));
  const std::string metrics = page == nullptr ? "null" : pipeline::json_string(page->origin() + "/metrics");
  const std::string wyoming =
      home == nullptr ? "" : ",\"wyoming\":" + pipeline::json_string(home->address().text());
  std::printf("{\"type\":\"listening\",\"address\":%s,\"metrics\":%s,\"http\":%s%s}\n",
              pipeline::json_string(server->address().text()).c_str(), metrics.c_str(),
              web == nullptr ? "null" : pipeline::json_string(web->origin()).c_str(), wyoming.c_str());
  // Nobody would know where to connect to.
  if (std::fflush(stdout) != 0) return Status(Code::io_error, "stdout cannot be written");
  std::optional<OnHangup> hangup;
  if (!call.access.tokens.empty() || !options.tls.empty()) {
    hangup.emplace([&] {
      const Status status = reload();
      say(status.ok() ? "tokens and certificates have been read again"
                      : "tokens and certificates stay as they were: " + std::string(status.text()));
    });
  }
  Status of_home;
  std::thread at_home;
  if (home != nullptr) at_home = std::thread([&] { of_home = home->run(); });
  Status status = server->run();
  if (home != nullptr) {
    at_home.join();
    std::printf("%s\n", home->summary().c_str());
    if (status.ok()) status = of_home;
  }
  hangup.reset();
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
  verb.option("--metrics", call->metrics,
              "IP:PORT of a page with metrics for Prometheus, /metrics (default: none); requires the token, "
              "too, if there is one");
  verb.option(
      "--http", call->http,
      "IP:PORT of a page with the streams, of /metrics, and of streams over WebSocket, /stream (default: "
      "none); requires the token, too, if there is one");
  add_access_flags(verb, call->access, std::nullopt);
  verb.option(
      "--user", call->user,
      "User that the program becomes once it listens, for good: for addresses and keys that only root "
      "may have (default: stays who it is)");
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
            "Let other machines use --wyoming, which has no password, without certificates of their own: in "
            "networks "
            "that you trust")
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
