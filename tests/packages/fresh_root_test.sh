#!/usr/bin/env bash
# fresh_root_test.sh SOURCE: the packages as a newcomer meets them. Makes them (scripts/package.sh), lets lintian judge them, installs them
# in a fresh root of the machine's Debian, listens, builds a stranger's projects in C, removes everything and looks for what is left.
# Prints how long each step took. As root, and with mmdebstrap.
set -euo pipefail
source=$1
command -v mmdebstrap >/dev/null || { echo "SKIPPED WITHOUT mmdebstrap: scripts/install.sh root" >&2; exit 77; }
[[ $EUID -eq 0 ]] || { echo "SKIPPED: not root, which a fresh root needs" >&2; exit 77; }
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
  if [[ -s $file ]]; then sources+=("$file"); fi
done
[[ ${#sources[@]} -gt 0 ]] || { echo "SKIPPED: apt has no sources of packages on this machine" >&2; exit 77; }
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")

begun=$SECONDS
# Removed even when a step fails; nothing of the machine is mounted below it by this test.
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
# step NAME COMMAND...: says how long it took; the test fails with it.
step() {
  local what=$1 start=$SECONDS status=0
  shift
  "$@" >"$work/log" 2>&1 || status=$?
  if [[ $status -ne 0 ]]; then
    tail -n 60 "$work/log" >&2
    echo "$what: FAILED after $((SECONDS - start)) s" >&2
    exit 1
  fi
  echo "$what: $((SECONDS - start)) s"
}

step "making the packages" "$source/scripts/package.sh" "$work/packages"
(cd "$work/packages" && ls -l ./*.deb)
lint() { lintian --fail-on error --no-tag-display-limit "$work"/packages/*.deb; }
if command -v lintian >/dev/null; then step "lintian" lint; else echo "WITHOUT lintian: not judged" >&2; fi

# Nothing under the GPL is linked.
mkdir "$work/contents"
for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/contents"; done
if grep -rl --include='*.so*' --include=runnel libfftw3 "$work/contents/usr/lib" "$work/contents/usr/bin"; then
  echo "these files of the packages use FFTW" >&2
  exit 1
fi

# What they are made of is in them, and where they were built is not.
test -s "$work/contents/usr/share/doc/runnel/runnel.spdx.json"
if grep -rlF -- "$source" "$work/contents" >"$work/paths"; then
  echo "these files of the packages have the path of the build in them:" >&2
  cat "$work/paths" >&2
  exit 1
fi

# One time in all of a package: that of the last commit, not that of the build.
for package in "$work"/packages/*.deb; do
  times=$(dpkg-deb --fsys-tarfile "$package" | tar --utc --full-time -tvf - | awk '{ print $4, $5 }' | sort -u)
  if [[ $(wc -l <<<"$times") -ne 1 ]]; then
    echo "$package: files of different times: $times" >&2
    exit 1
  fi
done

# What the root is given to read: packages, projects, a recording and its decisions.
given=$work/given
mkdir -p "$given"
cp "$work"/packages/*.deb "$source"/examples/c/*.[ch] "$given/"
cp -r "$source/tests/packages/stranger" "$given/"
cc -std=c99 -O1 "$source/tests/library/tones.c" -lm -o "$work/tones"
"$work/tones" >"$given/tones.wav"
speech=${RUNNEL_TEST_DATA:-}/digits/stitched_90s.wav
if [[ -f $speech ]]; then cp "$speech" "$given/speech.wav"; fi

cat >"$given/use.sh" <<'ROOT'
set -eu
cd /given
eager='detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=""'
runnel --version
# 1. The program, with a model by its name.
runnel listen digits --wav tones.wav --decision "$eager" | grep '"type":"event"' >program.txt
test -s program.txt
if [ -f speech.wav ]; then
  test "$(runnel listen digits --wav speech.wav | grep -c '"type":"event"')" -ge 30   # of 44, as in tests/support/stitched.h
fi
# 2. A stranger's program in C, by pkg-config.
gcc -std=c99 -Wall -Werror listen.c $(pkg-config --cflags --libs runnel) -o listen
./listen digits tones.wav "decision='$eager'" >c.txt
cmp program.txt c.txt
# 3. A stranger's project, by CMake.
cmake -S stranger -B made -D SOURCE=/given/listen.c -D CMAKE_BUILD_TYPE=Release >cmake.txt
cmake --build made >>cmake.txt
./made/stranger digits tones.wav "decision='$eager'" >cmake_said.txt
cmp program.txt cmake_said.txt
# 4. The Python package.
if python3 -c 'import runnel' 2>/dev/null; then
  python3 - tones.wav <<'PYTHON' >python.txt
import sys, runnel
print(len(list(runnel.load("digits").listen(sys.argv[1]))))
PYTHON
  test "$(cat python.txt)" = "$(runnel listen digits --wav tones.wav | grep -c '"type":"event"' || true)"
elif ls /given/python3-runnel*.deb >/dev/null 2>&1; then
  python3 -c 'import runnel'
fi
# 5. GStreamer's element, in a pipeline that is a source of the program's. (A registry is kept where nothing is looked for.)
if ls /given/gstreamer1.0-runnel*.deb >/dev/null 2>&1; then
  GST_REGISTRY=/tmp/registry.bin runnel run \
    "gst pipeline='audiotestsrc num-buffers=50 ! audio/x-raw,rate=16000,channels=1 ! runnel model=digits' ! wav path=gst.wav" >gst.txt
  grep '"failures":0' gst.txt
  test -s gst.wav
fi
# The units are where systemd looks for them.
test -f /lib/systemd/system/runnel-serve.service
test -f /lib/systemd/system/runnel-listen@.service
ROOT
cat >"$given/files.sh" <<'ROOT'
# Every file, but what package managers and the dynamic linker keep for themselves.
find / -xdev \( -path /given -o -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/cache -o -path /var/log -o -path /var/lib/dpkg \
  -o -path /var/lib/apt \) -prune -o ! -path /etc/ld.so.cache -print | sort
ROOT

# mmdebstrap's apt works on the root from outside, with the machine's network.
cat >"$work/hook.sh" <<'HOOK'
set -eu
root=$1
apt() { APT_CONFIG=$MMDEBSTRAP_APT_CONFIG DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Chroot-Directory="$root" "$@"; }
now() { date +%s; }
took() { echo "  $1: $(($(now) - $2)) s" >>"$WORK/steps"; }
cp -r "$WORK/given" "$root/given"
chroot "$root" sh /given/files.sh >"$WORK/before"
packages=$(cd "$root/given" && ls -- *.deb | sed 's/_.*//')
start=$(now); apt install --no-install-recommends "$root"/given/*.deb; took "installing the packages" "$start"
chroot "$root" dpkg-query -W -f '${Package} ${db:Status-Abbrev} ${Version} ${Installed-Size} kB\n' $packages >>"$WORK/steps"
start=$(now); chroot "$root" sh /given/use.sh; took "listening, and building a stranger's projects" "$start"
start=$(now)
# shellcheck disable=SC2086
apt purge $packages
apt autoremove --purge
took "removing the packages" "$start"
if chroot "$root" dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' | grep runnel; then echo "dpkg still knows them (above)"; exit 1; fi
chroot "$root" sh /given/files.sh >"$WORK/after"
diff "$WORK/before" "$WORK/after" || { echo "the packages left something behind, or took it away (above)"; exit 1; }
HOOK
export WORK=$work
# What the bridges need is there before, so that what is left afterwards is runnel's own.
included=gcc,libc6-dev,make,cmake,pkg-config
if compgen -G "$work/packages/gstreamer1.0-runnel_*.deb" >/dev/null; then included+=,gstreamer1.0-plugins-base; fi
if compgen -G "$work/packages/runnel-pipewire_*.deb" >/dev/null; then included+=,libpipewire-0.3-0; fi
if compgen -G "$work/packages/runnel-nats_*.deb" >/dev/null; then included+=,libnats3.4; fi
step "a fresh root, in which they are installed, used and removed" \
  mmdebstrap --variant=apt --include="$included" --aptopt='Apt::Install-Recommends "false"' \
  --customize-hook="sh '$work/hook.sh' \"\$1\"" "$suite" "$root" "${sources[@]}"
cat "$work/steps"
echo "all: $((SECONDS - begun)) s"
if [[ $((SECONDS - begun)) -gt 360 ]]; then echo "more than the six minutes that are meant" >&2; fi
