#include "services/page/live_page.h"

namespace runnel::page {

Result<std::unique_ptr<LivePage>> LivePage::start(const net::Address&, std::string) {
  return Status(
      Code::unsupported,
      "this program was built without cpp-httplib (Debian package libcpp-httplib-dev): it has no page");
}

}  // namespace runnel::page
