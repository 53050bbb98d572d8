// runnel export: models as .espdl files, which ESP-DL runs; several of them as a package.
#include "apps/call/progress.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_name.h"
#include "services/convert/export_model.h"

namespace runnel::apps {
namespace {

struct ExportCall {
  convert::ExportRequest request;
  ModelFlags flags;
};

Status run_export(ExportCall& call) {
  const Patience patience("writing " + call.request.output);
  RUNNEL_TRY(check_output_name(call.request.output, {".espdl"}));
  RUNNEL_ASSIGN(const compiler::LoadOptions load, load_options(call.flags));
  call.request.say = say;
  return convert::export_model(call.request, load);
}

}  // namespace

void add_export(Verb verb, int& exit_code) {
  auto call = std::make_shared<ExportCall>();
  verb.positional(
          "MODEL", call->request.inputs,
          "Model files (.rnl, .espdl, or others that import to such operators); several become a package")
      .required()
      .default_str("");
  verb.option("-o,--output", call->request.output, "The .espdl file to write").required();
  verb.option("--target", call->request.target,
              "Chip: rounding, layouts, exponents per channel (default: the model's own target)")
      .choices({"c", "esp32", "esp32s3", "esp32p4"});
  verb.option("--chunk", call->request.chunk,
              "Frames per call: writes the streaming form with StreamingCache nodes (default: whole clips)")
      .positive()
      .default_str("");
  verb.option("--warm-up", call->request.warm_up,
              "Streaming form: frames at the start of an output that may differ from the whole recording's, "
              "where layers inside the network pad (default: such networks are refused)")
      .non_negative()
      .default_str("");
  verb.option("--seed", call->request.seed, "Seed of the test inputs, for models without any");
  verb.option("--package", call->request.package,
              "Write a package with members named after the files (default for several models: PDL3)")
      .choices({"PDL1", "PDL2", "PDL3"})
      .default_str("");
  verb.option("--package-version", call->request.version, "Version of a PDL3 package, at most 15 characters");
  verb.flag("--encrypt", call->request.encrypt,
            "Encrypt the file (AES-128-CTR, as ESP-DL reads it) with the key of --key-file or RUNNEL_KEY");
  verb.option("--member", call->flags.member, "Model of an .espdl package: its name or index");
  add_trust_flag(verb, call->flags.trust);
  verb.option("--key-file", call->flags.key_file,
              "Key of encrypted files: 16 bytes or 32 hexadecimal digits (default: RUNNEL_KEY)");
  verb.callback([call, &exit_code] {
    if (const Status status = run_export(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
