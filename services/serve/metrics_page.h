// Metrics over HTTP, in the text format of Prometheus.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "services/net/access/admission.h"
#include "services/net/access/tokens.h"
#include "services/net/address.h"
#include "services/net/tls/tls_files.h"

namespace runnel::serve {

// GET /metrics in a thread of its own, until destroyed. It only reads counters: readers cannot block streams.
class MetricsPage {
 public:
  struct Options {
    net::Address address;
    net::Tokens tokens{};                         // if there are some, one with the scope watch is required
    net::TlsFiles tls{};                          // without a certificate: HTTP
    std::shared_ptr<net::Admission> admission{};  // limits by address; null: none
    std::vector<std::string> names{};             // further host names of the server
  };
  // `text`: called from that thread. Errors as in services/net/http_server.h.
  static Result<std::unique_ptr<MetricsPage>> start(const Options& options,
                                                    std::function<std::string()> text);
  virtual ~MetricsPage() = default;
  // "http://IP:PORT", or with https.
  [[nodiscard]] virtual std::string origin() const = 0;
  // Reads the files of TLS again.
  virtual Status reload() = 0;
};

}  // namespace runnel::serve
