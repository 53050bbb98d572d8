// runnel score: compares the records of a run with the truth. One JSON object, or tables, on stdout.
#include "services/score/score.h"

#include <cstdio>

#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "pipeline/host/picture/png_file.h"
#include "services/score/score_view.h"

namespace runnel::apps {
namespace {

struct ScoreCall {
  std::string records, labels, column = "label";
  pipeline::ScoreOptions options;
  std::string png;
  bool table = false;
};

Status run_score(const ScoreCall& call) {
  RUNNEL_ASSIGN(const pipeline::RunRecords run, pipeline::read_records(call.records));
  RUNNEL_ASSIGN(const pipeline::Truth truth, pipeline::read_truth(call.labels, call.column));
  RUNNEL_ASSIGN(const pipeline::Score score, pipeline::score_run(run, truth, call.options));
  if (score.unlabelled > 0)
    say(std::to_string(score.unlabelled) + " events of recordings without a label were left out");
  if (score.failures > 0) say(std::to_string(score.failures) + " recordings of the run had failed");
  if (!call.png.empty()) {
    RUNNEL_ASSIGN(const std::vector<std::byte> png, pipeline::encode_png(pipeline::draw_score(score)));
    RUNNEL_TRY(write_file(call.png, png));
  }
  std::printf("%s\n", (call.table ? pipeline::score_table(score) : to_json(score)).c_str());
  return {};
}

}  // namespace

void add_score(Verb verb, int& exit_code) {
  auto call = std::make_shared<ScoreCall>();
  verb.positional("RECORDS", call->records, "JSON lines written by batch or listen").required();
  verb.option("--labels", call->labels,
              "The truth: CSV with columns file,label (clips) or file,label,start,end (words in "
              "streams), or JSON")
      .required();
  verb.option("--label-column", call->column, "The column that holds the labels");
  verb.option("--tolerance", call->options.tolerance,
              "Words in streams: seconds after the end of a word in which an event still counts")
      .non_negative();
  verb.option("--ignore", call->options.ignore, "Words in streams: labels that are not words")
      .delimiter(',')
      .default_str("silence,unknown");
  verb.flag("--table", call->table, "Tables instead of JSON");
  verb.option("--png", call->png, "Also a picture: the confusion matrix, and misses against false accepts");
  verb.callback([call, &exit_code] {
    if (const Status status = run_score(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
