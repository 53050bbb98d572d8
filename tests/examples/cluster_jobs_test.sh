#!/bin/bash
# cluster_jobs_test.sh FOLDER: the jobs in there are well-formed: shell (and what ShellCheck says about it), YAML, Python. What has no tool here is left out, by name.
set -uo pipefail
folder=$1
failed=0
wrong() {
  echo "$*" >&2
  failed=1
}
for job in "$folder"/*.sh; do
  bash -n "$job" || wrong "$job: bash does not read it"
  [[ -x $job ]] || wrong "$job: cannot be executed"
done
if command -v shellcheck >/dev/null; then
  shellcheck --severity=warning "$folder"/*.sh || wrong "ShellCheck found something"
else
  echo "LEFT OUT: shellcheck is not there" >&2
fi
if python3 -c 'import yaml' 2>/dev/null; then
  python3 - "$folder" <<'END' || wrong "the YAML is not that of an indexed job"
import glob, sys, yaml

for name in glob.glob(sys.argv[1] + "/*.yaml"):
    (job,) = yaml.safe_load_all(open(name))
    spec = job["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert job["kind"] == "Job" and spec["completionMode"] == "Indexed", name
    shards = {entry["name"]: entry["value"] for entry in container["env"]}["RUNNEL_SHARDS"]
    assert int(shards) == spec["completions"], name + ": RUNNEL_SHARDS is not completions"
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in spec["template"]["spec"]["volumes"]}, name
END
else
  echo "LEFT OUT: python3-yaml is not there" >&2
fi
if command -v python3 >/dev/null; then
  for job in "$folder"/*.py; do
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$job" || wrong "$job: Python does not read it"
  done
fi
exit "$failed"
