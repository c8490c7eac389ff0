# shellcheck shell=bash
# What build_libcurl.sh and build_fmt.sh have in common: a static library of Debian's own source package in a folder,
# built once. For `source`, with `set -euo pipefail`.
#
# AIRFREIGHT_SOURCES   a folder with the patched sources, as fetch_sources.sh leaves it. Default: fetch the one.
# AIRFREIGHT_JOBS      parallel compilations, default 2.

# prepare NAME SOURCE_PACKAGE DEV_PACKAGE PREFIX: fetches the source, and sets `prefix`, `scratch` (which goes at the
# end), `source` and `version`. Ends the script where PREFIX is complete and of the same recipe and version: that of
# DEV_PACKAGE, which apt knows without asking the network, so that an update of Debian's makes the old one stale.
prepare() {
  name=$1
  mkdir -p "$4"
  prefix=$(cd "$4" && pwd)
  stamp=$prefix/share/airfreight/$name.stamp
  local here
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  recipe=$(cat "$0" "${BASH_SOURCE[0]}" | (sha256sum 2>/dev/null || shasum -a 256))
  recipe=${recipe%% *}
  local offered=
  if [[ -z ${AIRFREIGHT_SOURCES:-} ]]; then
    offered=$(apt-cache show --no-all-versions "$3" 2>/dev/null | sed -n 's/^Version: //p') || true
  fi
  if [[ -f $stamp && $(head -n 1 "$stamp") == "$recipe" && ($(tail -n 1 "$stamp") == "$offered" || -z $offered) ]]; then
    echo "$name $(tail -n 1 "$stamp") is in place"
    exit 0
  fi

  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  local sources=${AIRFREIGHT_SOURCES:-}
  if [[ -z $sources ]]; then
    sources=$scratch/sources
    "$here/fetch_sources.sh" "$sources" "$2" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2 && exit 1; }
  fi
  source=$sources/$2
  version=$(cat "$source/.debian-version")
}

# build_and_install OPTION...: by CMake, static; some 500 lines that are of interest only when it fails.
build_and_install() {
  # (In a condition, where -e has no effect.)
  if ! {
    cmake -S "$source" -B "$scratch/build" -Wno-dev -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib "$@" &&
      cmake --build "$scratch/build" --parallel "${AIRFREIGHT_JOBS:-2}" &&
      cmake --install "$scratch/build"
  } >"$scratch/log" 2>&1; then
    tail -n 50 "$scratch/log" >&2
    echo "$0: $name $version did not build" >&2
    exit 1
  fi
}

# complete: says that PREFIX is, once all is there.
complete() {
  mkdir -p "$(dirname "$stamp")"
  printf '%s\n%s\n' "$recipe" "$version" >"$stamp"
  echo "$name $version is in place"
}
