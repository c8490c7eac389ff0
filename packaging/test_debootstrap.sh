#!/usr/bin/env bash
# Proves the wheel where it could fail: in a Debian 12 that has python3-venv and nothing else - no CA certificates,
# no libcurl, no compiler, no Airflow - it installs offline, and pushes to and pulls from an S3 server over TLS.
#
#   packaging/test_debootstrap.sh WHEEL
#
# Needs root (chroot) and debootstrap. The system is made once, under build/debootstrap (a minute).
#
# AIRFREIGHT_VERSITYGW   the S3 server, default build/bin/versitygw.
set -euo pipefail

if (($# != 1)); then
  echo "usage: $0 WHEEL" >&2
  exit 2
fi
wheel=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
server=${AIRFREIGHT_VERSITYGW:-$root/build/bin/versitygw}
system=$root/build/debootstrap/system
complete=$root/build/debootstrap/complete

fail() {
  echo "$0: $*" >&2
  exit 1
}
((EUID == 0)) || fail "needs root, for chroot"
command -v debootstrap >/dev/null || fail "debootstrap is missing"
[[ -x $server ]] || fail "no S3 server at $server: set AIRFREIGHT_VERSITYGW"

if [[ ! -f $complete ]]; then
  # The mirror is the machine's own, so that this works wherever apt does.
  # shellcheck disable=SC2016  # apt-get expands this, not the shell
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
    sort | head -n 1)
  [[ -n $mirror ]] || fail "apt knows no Debian mirror: run apt-get update first"
  rm -rf "$system"
  mkdir -p "$system"
  debootstrap --variant=minbase --include=python3-venv bookworm "$system" "$mirror" >"$system.log" 2>&1 ||
    { tail -n 20 "$system.log" >&2 && fail "debootstrap failed, see $system.log"; }
  touch "$complete"
fi

scratch=$(mktemp -d)
server_pid=
finish() {
  if [[ -n $server_pid ]]; then
    kill "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
  fi
  rm -rf "$scratch" "$system/opt/airfreight"
}
trap finish EXIT

# All that pip may take, for the Python in there: it runs with --no-index, as on a machine without a registry.
rm -rf "$system/opt/airfreight"
mkdir -p "$system/opt/airfreight/wheelhouse"
cp "$wheel" "$root/packaging/smoke_test.py" "$system/opt/airfreight/"
backend=$root/build/debootstrap/wheelhouse
if ! compgen -G "$backend/nanobind_backend-*" >/dev/null; then
  # Through a virtual environment's pip: Debian's own may be absent.
  python3 -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" download --quiet --no-deps --only-binary=:all: --python-version 3.11 \
    --platform "manylinux_2_28_$(uname -m)" --dest "$backend" nanobind-backend
fi
cp "$backend"/nanobind_backend-* "$system/opt/airfreight/wheelhouse/"

# A private CA, a server certificate by it, and another CA that has nothing to do with either.
(
  cd "$scratch"
  for ca in ca other; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
      -subj "/CN=Airfreight test $ca" -keyout "$ca.key" -out "$ca.pem"
  done
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=localhost" \
    -keyout server.key -out server.csr
  printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >server.ext
  openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext \
    -out server.pem
) 2>"$scratch/openssl.log" || { cat "$scratch/openssl.log" >&2 && fail "openssl failed"; }
cp "$scratch/ca.pem" "$scratch/other.pem" "$system/opt/airfreight/"

# The chroot shares the network, so loopback is the same for both.
mkdir -p "$scratch/data/freight" "$scratch/etc"
port=$(cd "$root" && python3 -c 'from tests.servers.process import free_port; print(free_port())')
access=smoke-access secret=smoke-secret-of-this-run
"$server" --access "$access" --secret "$secret" --port "127.0.0.1:$port" --quiet \
  --cert "$scratch/server.pem" --key "$scratch/server.key" posix "$scratch/data" >"$scratch/server.log" 2>&1 &
server_pid=$!
for ((i = 0; ; i++)); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    break
  fi
  if ((i >= 100)) || ! kill -0 "$server_pid" 2>/dev/null; then
    cat "$scratch/server.log" >&2
    fail "the S3 server did not start"
  fi
  sleep 0.1
done

# A clean environment: no proxy, no PYTHONPATH and no credentials of the caller's.
inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/opt/airfreight LANG=C.UTF-8 \
    AWS_ACCESS_KEY_ID="$access" AWS_SECRET_ACCESS_KEY="$secret" AWS_CA_BUNDLE=/opt/airfreight/ca.pem \
    chroot "$system" "$@"
}
inside python3 -m venv /opt/airfreight/venv
inside /opt/airfreight/venv/bin/pip install --quiet --no-index --find-links /opt/airfreight/wheelhouse \
  "/opt/airfreight/$(basename "$wheel")"
inside /opt/airfreight/venv/bin/python /opt/airfreight/smoke_test.py
inside /opt/airfreight/venv/bin/python /opt/airfreight/smoke_test.py s3://freight/xcom "https://127.0.0.1:$port" \
  /opt/airfreight/other.pem
# By name as well: the certificate's host name, and resolution by libcurl's thread.
inside /opt/airfreight/venv/bin/python /opt/airfreight/smoke_test.py s3://freight/xcom "https://localhost:$port" \
  /opt/airfreight/other.pem
echo "the wheel works in a bare Debian 12"
