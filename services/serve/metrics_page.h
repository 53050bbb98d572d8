// Metrics over HTTP, in the text format of Prometheus.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "services/net/address.h"

namespace runnel::serve {

// GET /metrics in a thread of its own, until destroyed. It only reads counters: readers cannot block streams.
class MetricsPage {
 public:
  // `text`: called from that thread. `token`, if not empty, is required as "Authorization: Bearer TOKEN".
  // Errors as in services/net/http_server.h.
  static Result<std::unique_ptr<MetricsPage>> start(const net::Address& address, std::string token,
                                                    std::function<std::string()> text);
  virtual ~MetricsPage() = default;
  [[nodiscard]] virtual const net::Address& address() const noexcept = 0;
};

}  // namespace runnel::serve
