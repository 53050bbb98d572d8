#!/usr/bin/env bash
# site.sh [FOLDER]: the documentation as a site of plain files (default: build/site). The reference of verbs and presets is
# made by the program; links are checked, and a warning is an error. Needs Debian's mkdocs and mkdocs-material (scripts/install.sh site).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
if [[ $# -gt 1 ]]; then die "takes one folder"; fi
build=${RUNNEL_BUILD:-$root/build}
out=${1:-$build/site}

mkdocs=$(command -v mkdocs || true)
if [[ -z $mkdocs || ! -d /usr/share/mkdocs/themes/material ]]; then
  say "SKIPPED WITHOUT MKDOCS AND MKDOCS-MATERIAL: scripts/install.sh site"
  exit 77
fi
[[ -x $build/runnel ]] || die "$build/runnel is not there: build the target runnel_program"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
/usr/bin/python3 -B "$root/scripts/site_pages.py" stage "$root" "$build/runnel" "$stage"
# The hooks are a module of the configuration.
cp "$root/scripts/site_hooks.py" "$stage"
sed "s|^site_name:|docs_dir: $stage/pages\nsite_dir: $stage/site\nsite_name:|" "$root/docs/mkdocs.yml" >"$stage/mkdocs.yml"
# Not --quiet: it counts warnings without showing them.
if ! (cd "$stage" && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$stage "$mkdocs" build --strict -f mkdocs.yml) >"$stage/log" 2>&1; then
  if grep -Eq 'WARNING|ERROR' "$stage/log"; then grep -E 'WARNING|ERROR' "$stage/log" >&2; else cat "$stage/log" >&2; fi
  die "mkdocs has warnings"
fi
/usr/bin/python3 -B "$root/scripts/site_pages.py" check "$stage/site"
rm -rf "$out"
mkdir -p "$(dirname -- "$out")"
mv "$stage/site" "$out"
say "$out/index.html"
