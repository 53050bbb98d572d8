#include "services/fleet/metrics/page.h"

#include <gtest/gtest.h>
#include <httplib.h>

namespace runnel::fleet {
namespace {

TEST(WorkerPage, ShowsTheBoard) {
  WorkerBoard board;
  const std::string token = "a-token-of-this-test";
  const auto address = net::Address::parse("127.0.0.1:0");
  ASSERT_TRUE(address.ok());
  const auto page = WorkerPage::start(*address, token, board);
  ASSERT_TRUE(page.ok()) << page.status().text();
  WorkerReport report;
  report.worker = "desk";
  report.facts.saves = 42;
  board.write(report);
  httplib::Client client((*page)->origin());
  EXPECT_NE(client.Get("/metrics")->status, 200) << "without the token";
  const httplib::Headers headers = {{"Authorization", "Bearer " + token}};
  const auto metrics = client.Get("/metrics", headers);
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->status, 200);
  EXPECT_NE(metrics->body.find("\nrunnel_work_snapshots_total 42\n"), std::string::npos);
  const auto document = client.Get("/", headers);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(document->body.find("<h1>desk</h1>"), std::string::npos);
}

// The sound of other people is not for everybody.
TEST(WorkerPage, OtherAddressesNeedAToken) {
  const WorkerBoard board;
  const auto address = net::Address::parse("0.0.0.0:0");
  ASSERT_TRUE(address.ok());
  const auto page = WorkerPage::start(*address, "", board);
  ASSERT_FALSE(page.ok());
  EXPECT_EQ(page.status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace runnel::fleet
