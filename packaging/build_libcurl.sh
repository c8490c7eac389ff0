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
# shellcheck source=packaging/from_source.sh
source "$(dirname "${BASH_SOURCE[0]}")/from_source.sh"
prepare libcurl curl libcurl4-openssl-dev "$1"

options=(
  # Not the tool, not the manual, not the tests.
  -DBUILD_CURL_EXE=OFF -DENABLE_MANUAL=OFF -DBUILD_TESTING=OFF
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
build_and_install -DCMAKE_C_FLAGS_RELEASE="$flags" \
  -DCMAKE_PREFIX_PATH="$prefix${CMAKE_PREFIX_PATH:+;${CMAKE_PREFIX_PATH//:/;}}" "${options[@]}"

mkdir -p "$prefix/share/licenses/curl"
cp "$source/COPYING" "$prefix/share/licenses/curl/COPYING"
complete
