#!/usr/bin/env bash
# Fetches Debian's source packages, with Debian's (security) patches applied.
#
#   packaging/fetch_sources.sh DIRECTORY PACKAGE...
#
# Afterwards DIRECTORY/PACKAGE holds the patched source. A package that is there already is left as it is. The
# machine's own apt configuration is neither changed nor required to list sources: a private list, derived
# from the binary repositories that are configured, serves this one call. Signatures are checked as ever.
set -euo pipefail

if (($# < 2)); then
  echo "usage: $0 DIRECTORY PACKAGE..." >&2
  exit 2
fi
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift

missing=()
for package in "$@"; do
  [[ -d $directory/$package ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

if ! command -v dpkg-source >/dev/null; then
  echo "$0: dpkg-source is missing: install dpkg-dev" >&2
  exit 1
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/lists/partial" "$scratch/cache/archives/partial" "$scratch/unpacked"

# Lists and downloads of our own; everything else, the signing keys among it, is as the machine has it.
private=(-q -o "Dir::State::Lists=$scratch/lists" -o "Dir::Cache=$scratch/cache")
if ((EUID == 0)); then
  # As root apt downloads as user _apt, who cannot write into our private folder.
  private+=(-o "APT::Sandbox::User=root")
fi

# One deb-src line per configured repository of the distribution itself; third parties have no curl for us.
deb_src_lines() {
  # shellcheck disable=SC2016  # apt-get expands these, not the shell
  apt-get "$@" indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sort -u | while read -r origin uri release component; do
    case $origin in
      Debian | Ubuntu) ;;
      *) continue ;;
    esac
    keyring=/usr/share/keyrings/${origin,,}-archive-keyring.gpg
    options=
    [[ -r $keyring ]] && options="[signed-by=$keyring] "
    echo "deb-src $options$uri $release $component"
  done
}
deb_src_lines >"$scratch/sources.list"
if [[ ! -s $scratch/sources.list ]]; then
  # Only lists that were fetched tell whose they are, and many container images come without any.
  apt-get "${private[@]}" update
  deb_src_lines "${private[@]}" >"$scratch/sources.list"
fi
if [[ ! -s $scratch/sources.list ]]; then
  echo "$0: no repository of Debian or Ubuntu is configured" >&2
  exit 1
fi

apt=(apt-get "${private[@]}"
  -o "Dir::Etc::SourceList=$scratch/sources.list"
  -o "Dir::Etc::SourceParts=/dev/null")
"${apt[@]}" update

for package in "${missing[@]}"; do
  mkdir "$scratch/unpacked/$package"
  (cd "$scratch/unpacked/$package" && "${apt[@]}" source "$package")
  # Exactly one directory comes out of dpkg-source; its name carries the version, which we keep beside it.
  unpacked=("$scratch/unpacked/$package"/*/)
  dsc=("$scratch/unpacked/$package"/*.dsc)
  sed -n 's/^Version: //p' "${dsc[0]}" | tail -n 1 >"${unpacked[0]}/.debian-version"
  mv "${unpacked[0]}" "$directory/$package"
done
