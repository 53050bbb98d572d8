# Shared by the scripts that unpack foreign packages (source it behind common.sh): a private copy of apt's state knows the other
# architecture, suite or sources, and nothing of this machine changes.

# private_apt ARCHITECTURE [LINES]: a state in $state, read by apt(); LINES in place of this machine's list of sources.
private_apt() {
  command -v apt-get >/dev/null || die "this is not a Debian system (no apt-get)"
  state=$(mktemp -d)
  trap 'rm -rf "$state"' EXIT
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/dpkg"
  : >"$state/dpkg/status"
  cat >"$state/apt.conf" <<CONF
APT::Architecture "$1";
APT::Architectures {"$1";};
Dir::State "$state";
Dir::State::status "$state/dpkg/status";
Dir::Cache "$state/cache";
APT::Install-Recommends "0";
APT::Sandbox::User "root";
CONF
  if [[ $# -gt 1 ]]; then
    printf '%s\n' "$2" >"$state/sources.list"
    printf 'Dir::Etc::sourcelist "%s";\nDir::Etc::sourceparts "/dev/null";\n' "$state/sources.list" >>"$state/apt.conf"
  fi
}
apt() { env APT_CONFIG="$state/apt.conf" apt-get -q "$@" >&2; }

# The mirror that this machine's lists name first for Debian, whose other suites lie beside it.
mirror() {
  local found
  found=$(apt-get indextargets --format '$(SITE) $(REPO_URI)' 2>/dev/null | awk '$2 ~ /\/debian\/?$/ && !found++ {print $2}')
  [[ -n $found ]] || die "apt's lists of this machine name no mirror of Debian"
  printf '%s' "$found"
}

# unpack FOLDER: what apt has downloaded; links to absolute paths, which would lead out of the folder, become relative.
unpack() {
  local package link
  mkdir -p "$1"
  for package in "$state"/cache/archives/*.deb; do dpkg -x "$package" "$1"; done
  find "$1" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfn "$(realpath -m --relative-to="$(dirname -- "$link")" "$1$(readlink -- "$link")")" "$link"
  done
}
