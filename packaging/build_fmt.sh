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
# shellcheck source=packaging/from_source.sh
source "$(dirname "${BASH_SOURCE[0]}")/from_source.sh"
prepare fmt fmtlib libfmt-dev "$1"

build_and_install -DFMT_TEST=OFF -DFMT_DOC=OFF \
  -DCMAKE_CXX_FLAGS_RELEASE="-O2 -ffunction-sections -fdata-sections -ffile-prefix-map=$source=fmt" \
  -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON
complete
