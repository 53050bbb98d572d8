// runnel score: compares the records of a run with the truth. One JSON object, or tables, on stdout.
#include "services/score/score.h"

#include <cstdio>

#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "pipeline/host/picture/png_file.h"
#include "services/score/score_view.h"
#include "services/score/word_errors.h"

namespace runnel::apps {
namespace {

struct ScoreCall {
  std::string records, labels, column = "label";
  pipeline::ScoreOptions options;
  std::string png;
  bool table = false;
  bool wer = false, cer = false;
  pipeline::WordErrorOptions words;
  std::string normalise = "basic";
};

Status run_word_errors(const ScoreCall& call, const pipeline::RunRecords& run, const pipeline::Truth& truth) {
  if (call.wer && call.cer) return Status(Code::invalid_argument, "expected --wer or --cer, found both");
  if (!call.png.empty()) return Status(Code::invalid_argument, "--png has no picture of word errors");
  pipeline::WordErrorOptions options = call.words;
  options.characters = call.cer;
  if (!pipeline::parse_normalisation(call.normalise, options.normalisation))
    return Status(Code::invalid_argument) << "--normalise " << call.normalise;
  RUNNEL_ASSIGN(const pipeline::WordErrors errors, pipeline::count_word_errors(run, truth, options));
  if (errors.unlabelled > 0)
    say(std::to_string(errors.unlabelled) + " results of recordings without a text were left out");
  if (errors.failures > 0)
    say(std::to_string(errors.failures) +
        " recordings of the run had failed; their words count as deletions");
  std::printf("%s\n", (call.table ? pipeline::word_error_table(errors) : to_json(errors)).c_str());
  return {};
}

Status run_score(const ScoreCall& call) {
  RUNNEL_TRY(check_output_name(call.png, {".png"}));
  RUNNEL_ASSIGN(const pipeline::RunRecords run, pipeline::read_records(call.records));
  RUNNEL_ASSIGN(const pipeline::Truth truth, pipeline::read_truth(call.labels, call.column));
  if (call.wer || call.cer) return run_word_errors(call, run, truth);
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
              "streams), lines FILE<tab>TEXT, or JSON")
      .required();
  verb.option("--label-column", call->column, "The column that holds the labels");
  verb.option("--tolerance", call->options.tolerance,
              "Words in streams: seconds after the end of a word in which an event still counts")
      .non_negative();
  verb.option("--ignore", call->options.ignore, "Words in streams: labels that are not words")
      .delimiter(',')
      .default_str("silence,unknown");
  verb.flag("--wer", call->wer,
            "Word errors of speech recognition instead: substitutions, deletions, insertions by file, and a "
            "95 % interval");
  verb.flag("--cer", call->cer, "The same for characters");
  verb.option("--normalise", call->normalise,
              "Word errors: basic (small letters, no punctuation but apostrophes within words) or none")
      .choices({"basic", "none"});
  verb.option("--samples", call->words.samples,
              "Word errors: sets of recordings drawn for the interval; 0: none")
      .range(std::int64_t{0}, std::int64_t{1000000});
  verb.option("--seed", call->words.seed, "Word errors: of these draws");
  verb.flag("--table", call->table, "Tables instead of JSON");
  verb.option("--png", call->png, "Also a picture: the confusion matrix, and misses against false accepts");
  verb.callback([call, &exit_code] {
    if (const Status status = run_score(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
