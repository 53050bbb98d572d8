// A model is no program: what is stored in it starts none and writes no file.
#include "pipeline/nodes/host/stored_text.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "compiler/import/load.h"
#include "compiler/import/usage.h"
#include "services/listen/model_graph.h"

namespace runnel::listen {
namespace {

using testing::HasSubstr;

constexpr const char* kFrontEnd = "fbank preset=kaldi num_mel_bins=40 high_freq=7600";

// The digits with these texts, as a file from anywhere may have them.
Result<std::shared_ptr<const OwnedModel>> model_with(const std::string& front_end,
                                                     const std::string& decision) {
  RUNNEL_ASSIGN(compiler::ImportedGraph import,
                compiler::import_file(RUNNEL_SOURCE_FOLDER "/models/digits/digits_c_s8.espdl", {}));
  import.graph.pipeline.front_end = front_end;
  import.graph.pipeline.sample_rate = 16000;
  import.graph.pipeline.decision = decision;
  RUNNEL_ASSIGN(const auto written, compiler::write_for_use(import.graph, {}));
  return OwnedModel::from_bytes(written.bytes);
}

std::string refusal(const std::string& front_end, const std::string& decision) {
  const auto model = model_with(front_end, decision);
  EXPECT_TRUE(model.ok()) << model.status().text();
  if (!model.ok()) return "";
  const auto parts = graph_parts({"evil.rnl", "", ""}, (*model)->model(), false);
  return parts.ok() ? "taken: " + parts->decision : std::string(parts.status().text());
}

TEST(StoredText, ThatComputesIsTaken) {
  EXPECT_EQ(refusal(kFrontEnd, "detect threshold=0.5"), "taken: detect threshold=0.5");
}

TEST(StoredText, StartsNoProgramAndReachesNothing) {
  for (const char* const node :
       {"command run=\"touch /tmp/x\"", "send to=udp://192.0.2.1:9", "mqtt topic=x", "record folder=/tmp",
        "jsonl path=/tmp/x", "npy path=/tmp/x.npy", "wav path=/tmp/x.wav"}) {
    const std::string type = std::string(node).substr(0, std::string(node).find(' '));
    EXPECT_THAT(
        refusal(kFrontEnd, std::string("detect ! ") + node),
        HasSubstr("evil.rnl: the decision that is stored in the model has the node " + type + ", expected"));
  }
  EXPECT_THAT(refusal("tcp port=9 ! " + std::string(kFrontEnd), "detect"),
              HasSubstr("evil.rnl: the front end that is stored in the model has the node tcp"));
}

TEST(StoredText, OfTheCallIsTheUsersOwn) {
  const auto model = model_with(kFrontEnd, "detect ! command run=x");
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto parts = graph_parts({"evil.rnl", "", "detect ! jsonl path=mine"}, (*model)->model(), false);
  ASSERT_TRUE(parts.ok()) << parts.status().text();
  EXPECT_EQ(parts->decision, "detect ! jsonl path=mine");
}

TEST(StoredText, ThatIsNoGraphIsLeftToItsBuilder) {
  EXPECT_TRUE(pipeline::check_stored_text("detect threshold=\"", "decision").ok());
}

}  // namespace
}  // namespace runnel::listen
