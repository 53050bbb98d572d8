// The page of a worker over HTTP.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "services/fleet/metrics/board.h"
#include "services/net/access/tokens.h"
#include "services/net/address.h"

namespace runnel::fleet {

// GET /metrics (Prometheus) and GET / (people) in a thread of its own, until destroyed. Readers only read the
// board, and cannot block streams.
class WorkerPage {
 public:
  // `board` outlives it. If there are `tokens`, one with the scope watch is required.
  // Errors as in services/net/http_server.h.
  static Result<std::unique_ptr<WorkerPage>> start(const net::Address& address, net::Tokens tokens,
                                                   const WorkerBoard& board);
  virtual ~WorkerPage() = default;
  // "http://IP:PORT"
  [[nodiscard]] virtual std::string origin() const = 0;
};

}  // namespace runnel::fleet
