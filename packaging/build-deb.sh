#!/bin/bash
# Builds the Debian package from this tree, as it stands: plimsoll_VERSION_ARCH.deb in the folder OUT
# (default: build/deb). The chart library is fetched first, unless it is there, so the build itself
# needs no network.
#   packaging/build-deb.sh [OUT]
set -euo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
mkdir -p "${1:-$root/build/deb}"
out=$(readlink -f "${1:-$root/build/deb}")

missing=()
for package in dpkg-dev debhelper cmake ninja-build pkg-config libgsl-dev liburing-dev libbtrfsutil-dev libnfs-dev libinih-dev libjansson-dev libcurl4-gnutls-dev libmicrohttpd-dev libpq-dev \
    libsodium-dev libsystemd-dev zlib1g-dev; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "build-deb.sh: these Debian packages are missing; install them, then run this again:" >&2
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 2
fi
bash "$root/web/vendor.sh"

# Debian's tools want debian/ at the top and write beside it: a copy, always of the same path, so that a
# compiler cache fits.
copy=$out/source
rm -rf "$copy"
mkdir -p "$copy"
(cd "$root" && tar cf - --exclude=./build --exclude=./.git --exclude=node_modules --exclude=./packaging/debian .) | tar xf - -C "$copy"
cp -r "$root/packaging/debian" "$copy/debian"
export CCACHE_DIR=${CCACHE_DIR:-${HOME:-/root}/.cache/ccache} CCACHE_BASEDIR=$copy
(cd "$copy" && dpkg-buildpackage -b -us -uc -j"$(nproc)") >"$out/build.log" 2>&1 || {
    grep -m 5 -E 'error|Error|FAILED' "$out/build.log" >&2 || tail -n 5 "$out/build.log" >&2
    echo "build-deb.sh: the build failed; the whole of it is in $out/build.log" >&2
    exit 1
}
rm -rf "$copy"
ls "$out"/plimsoll_*.deb
