#!/usr/bin/env bash
# Builds the libcurl that the wheel carries: static, HTTP and HTTPS only, over a static OpenSSL.
#
#   packaging/build_libcurl.sh PREFIX
#
# Why not the distribution's: linked to it, `auditwheel repair` has to bring 27 libraries (Kerberos, LDAP, GnuTLS,
# SSH, RTMP ...), 17.5 MB, into a wheel that needs none of them. The source is Debian's own package with its security
# patches; what is left out are protocols and options that Airfreight never uses, which is also attack surface.
#
# AIRFREIGHT_SOURCES   a folder with the patched source in `curl`, as fetch_sources.sh leaves it. Default: fetch it.
# CMAKE_PREFIX_PATH    where to look for OpenSSL before the system; PREFIX itself is searched first.
# AIRFREIGHT_JOBS      parallel compilations, default 2.
#
# PREFIX gets include/, lib/libcurl.a, lib/cmake/CURL (so that find_package(CURL) finds it there) and the licence
# texts share/licenses/NAME. A PREFIX that is complete and of the same recipe and source is left as it is.
set -euo pipefail

if (($# != 1)); then
  echo "usage: $0 PREFIX" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
stamp=$prefix/share/airfreight/libcurl.stamp

recipe=$(sha256sum "${BASH_SOURCE[0]}" 2>/dev/null || shasum -a 256 "${BASH_SOURCE[0]}")
recipe=${recipe%% *}
# A security update of Debian's makes what was built before stale; apt knows of it without asking the network.
offered=
if [[ -z ${AIRFREIGHT_SOURCES:-} ]]; then
  offered=$(apt-cache show --no-all-versions libcurl4-openssl-dev 2>/dev/null | sed -n 's/^Version: //p') || true
fi
if [[ -f $stamp && $(head -n 1 "$stamp") == "$recipe" && ($(tail -n 1 "$stamp") == "$offered" || -z $offered) ]]; then
  echo "libcurl $(tail -n 1 "$stamp") is in place"
  exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sources=${AIRFREIGHT_SOURCES:-}
if [[ -z $sources ]]; then
  sources=$scratch/sources
  "$here/fetch_sources.sh" "$sources" curl >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2 && exit 1; }
fi
source=$sources/curl
version=$(cat "$source/.debian-version")

options=(
  # Not the tool, not the manual, not the tests.
  -DBUILD_CURL_EXE=OFF -DENABLE_MANUAL=OFF -DBUILD_TESTING=OFF
  -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON
  # Name resolution must not block a cancelled transfer, and c-ares ignores what nsswitch.conf says.
  -DENABLE_ARES=OFF -DENABLE_THREADED_RESOLVER=ON
  -DENABLE_IPV6=ON -DHTTP_ONLY=ON
  # Proxies, their Basic and Digest authentication, and curl_getdate stay. This goes:
  -DCURL_DISABLE_ALTSVC=ON -DCURL_DISABLE_COOKIES=ON -DCURL_DISABLE_DOH=ON -DCURL_DISABLE_HSTS=ON
  -DCURL_DISABLE_MIME=ON -DCURL_DISABLE_NETRC=ON -DCURL_DISABLE_NTLM=ON -DCURL_DISABLE_LIBCURL_OPTION=ON
  -DUSE_NGHTTP2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DCURL_ZLIB=OFF
  -DUSE_LIBIDN2=OFF -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBSSH=OFF -DCURL_USE_GSSAPI=OFF
  -DCURL_USE_OPENSSL=ON -DOPENSSL_USE_STATIC_LIBS=ON
  # The build machine's CA path means nothing elsewhere; Airfreight names the CA file at run time. Likewise the
  # machine's openssl.cnf is written for the machine's OpenSSL (it may load modules of that version), not for ours.
  -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DCURL_CA_FALLBACK=OFF
  -DCURL_DISABLE_OPENSSL_AUTO_LOAD_CONFIG=ON
)

# Sections let the linker drop what nobody calls; the prefix map keeps the builder's folders out of the wheel.
flags="-O2 -ffunction-sections -fdata-sections -ffile-prefix-map=$source=curl -ffile-prefix-map=$scratch=build"
build() {
  cmake -S "$source" -B "$scratch/build" -Wno-dev \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="$flags" \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_PREFIX_PATH="$prefix${CMAKE_PREFIX_PATH:+;${CMAKE_PREFIX_PATH//:/;}}" \
    "${options[@]}" &&
    cmake --build "$scratch/build" --parallel "${AIRFREIGHT_JOBS:-2}" &&
    cmake --install "$scratch/build"
}
# Some 500 lines that are of interest only when it fails. (`build` runs in a condition, where -e has no effect.)
if ! build >"$scratch/log" 2>&1; then
  tail -n 50 "$scratch/log" >&2
  echo "$0: libcurl $version did not build" >&2
  exit 1
fi

mkdir -p "$prefix/share/licenses/curl" "$(dirname "$stamp")"
cp "$source/COPYING" "$prefix/share/licenses/curl/COPYING"
printf '%s\n%s\n' "$recipe" "$version" >"$stamp"
echo "libcurl $version is in place"
