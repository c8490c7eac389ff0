#!/usr/bin/env bash
# Builds the fmt that the wheel carries: static, from Debian's own source package.
#
#   packaging/build_fmt.sh PREFIX
#
# Debian ships fmt as a shared library and as headers. With the headers alone every source that formats a text compiles
# all of fmt anew, which is nearly half of the wheel's compilation.
#
# AIRFREIGHT_SOURCES   a folder with the patched source in `fmtlib`, as fetch_sources.sh leaves it. Default: fetch it.
# AIRFREIGHT_JOBS      parallel compilations, default 2.
#
# PREFIX gets include/fmt, lib/libfmt.a and lib/cmake/fmt, so that find_package(fmt) finds it there. A PREFIX that is
# complete and of the same recipe and source is left as it is.
set -euo pipefail

if (($# != 1)); then
  echo "usage: $0 PREFIX" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
stamp=$prefix/share/airfreight/fmt.stamp

recipe=$(sha256sum "${BASH_SOURCE[0]}")
recipe=${recipe%% *}
# The headers of libfmt-dev are what a developer's build has: another version of it makes this one stale.
offered=
if [[ -z ${AIRFREIGHT_SOURCES:-} ]]; then
  offered=$(apt-cache show --no-all-versions libfmt-dev 2>/dev/null | sed -n 's/^Version: //p') || true
fi
if [[ -f $stamp && $(head -n 1 "$stamp") == "$recipe" && ($(tail -n 1 "$stamp") == "$offered" || -z $offered) ]]; then
  echo "fmt $(tail -n 1 "$stamp") is in place"
  exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sources=${AIRFREIGHT_SOURCES:-}
if [[ -z $sources ]]; then
  sources=$scratch/sources
  "$here/fetch_sources.sh" "$sources" fmtlib >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2 && exit 1; }
fi
source=$sources/fmtlib
version=$(cat "$source/.debian-version")

build() {
  cmake -S "$source" -B "$scratch/build" -Wno-dev -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_CXX_FLAGS_RELEASE="-O2 -ffunction-sections -fdata-sections -ffile-prefix-map=$source=fmt" \
    -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DFMT_TEST=OFF -DFMT_DOC=OFF &&
    cmake --build "$scratch/build" --parallel "${AIRFREIGHT_JOBS:-2}" &&
    cmake --install "$scratch/build"
}
if ! build >"$scratch/log" 2>&1; then
  tail -n 50 "$scratch/log" >&2
  echo "$0: fmt $version did not build" >&2
  exit 1
fi

mkdir -p "$(dirname "$stamp")"
printf '%s\n%s\n' "$recipe" "$version" >"$stamp"
echo "fmt $version is in place"
