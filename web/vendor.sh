#!/bin/bash
# Puts the files the dashboard takes from npm into web/vendor/. npm checks the package against the
# lockfile's sha512; the files that are served are checked again, by vendor.sha384, so that
# neither a changed lockfile nor a changed package passes alone. Files already right are kept: no
# network is needed then.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")

right() { (cd "$1" && sha384sum --status --strict -c "$here/vendor.sha384") 2>/dev/null; }

if [ -d "$here/vendor" ] && right "$here/vendor"; then
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$work"
(cd "$work" && npm ci --ignore-scripts --loglevel=error >/dev/null)
mkdir "$work/vendor"
cp "$work"/node_modules/uplot/{dist/uPlot.esm.js,dist/uPlot.min.css,LICENSE} "$work/vendor"
if ! right "$work/vendor"; then
    echo "vendor.sh: uPlot is not what vendor.sha384 says; nothing was installed" >&2
    (cd "$work/vendor" && sha384sum -c "$here/vendor.sha384") >&2 || true
    exit 1
fi
rm -rf "$here/vendor"
chmod 755 "$work/vendor" && chmod 644 "$work"/vendor/*
cp -r "$work/vendor" "$here/vendor"
