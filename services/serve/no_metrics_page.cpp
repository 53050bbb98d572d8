#include "services/serve/metrics_page.h"

namespace runnel::serve {

Result<std::unique_ptr<MetricsPage>> MetricsPage::start(const net::Address&, std::string,
                                                        std::function<std::string()>) {
  return Status(Code::unsupported,
                "this build has no pages over HTTP; install libcpp-httplib-dev and configure again");
}

}  // namespace runnel::serve
