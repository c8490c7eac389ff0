#!/usr/bin/env bash
# Builds everything that the wheel links statically, for systems that are not Debian: the manylinux container and macOS,
# whose own OpenSSL is too old or has no archive. On Debian 12 use build_libcurl.sh and the -dev packages instead.
#
#   AIRFREIGHT_SOURCES=build/sources packaging/build_static_deps.sh PREFIX
#
# AIRFREIGHT_SOURCES is filled on a Debian or Ubuntu machine (a container does it), by
#   packaging/fetch_sources.sh build/sources curl openssl fmtlib pugixml nlohmann-json3 tl-expected tomlplusplus
# so that every platform gets the same sources with the same security patches.
#
# AIRFREIGHT_JOBS   parallel compilations, default 2.
set -euo pipefail

if (($# != 1)) || [[ -z ${AIRFREIGHT_SOURCES:-} ]]; then
  echo "usage: AIRFREIGHT_SOURCES=FOLDER $0 PREFIX" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sources=$(cd "$AIRFREIGHT_SOURCES" && pwd)
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
export AIRFREIGHT_SOURCES=$sources AIRFREIGHT_JOBS=${AIRFREIGHT_JOBS:-2}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Archives only, no loadable modules: providers and engines as files would be looked for on the user's machine.
# /etc/ssl is where a machine's configuration lies, if it has one.
mkdir "$scratch/openssl"
(
  cd "$scratch/openssl"
  "$sources/openssl/config" --prefix="$prefix" --libdir=lib --openssldir=/etc/ssl \
    no-shared no-module no-engine no-legacy no-tests no-ssl3 no-dtls no-comp \
    -fPIC -ffunction-sections -fdata-sections "-ffile-prefix-map=$sources=." >configure.log
  make -s -j"$AIRFREIGHT_JOBS" build_libs >make.log
  make -s install_dev >install.log
)

with_cmake() {
  local name=$1
  shift
  cmake -S "$sources/$name" -B "$scratch/$name" -Wno-dev -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib "$@"
  cmake --build "$scratch/$name" --parallel "$AIRFREIGHT_JOBS"
  cmake --install "$scratch/$name"
}
with_cmake fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
with_cmake pugixml
with_cmake nlohmann-json3 -DJSON_BuildTests=OFF
with_cmake tl-expected -DEXPECTED_BUILD_TESTS=OFF -DEXPECTED_BUILD_PACKAGE=OFF
with_cmake tomlplusplus

"$here/build_libcurl.sh" "$prefix"
