#!/bin/sh
# Installs the system libraries that Qt needs to open a window, and with --for-tests what the tests
# need besides, where that is possible unasked: on Debian and Ubuntu, as root or with a sudo that asks
# for no password. Silent otherwise; `mosaic gui`, or the test that is skipped, says what is missing.
set -eu

command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1 || exit 0

# Newer releases have it under another name.
glib=libglib2.0-0t64
apt-cache show "$glib" >/dev/null 2>&1 || glib=libglib2.0-0
packages="$glib libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0
libxcb-render-util0 libxcb-shape0 libxcb-shm0 libxcb-sync1 libxcb-xfixes0 libxcb-xkb1 libx11-xcb1
libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 libegl1 libgl1 libwayland-client0
libwayland-cursor0 libfontconfig1"
# Tests open a real window where there is no screen, and write down what a writer asks of the disk.
[ "${1:-}" = "--for-tests" ] && packages="$packages xvfb strace"

missing=""
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" \
        || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    exit 0
fi

echo "installing system packages:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 (words on purpose)
if ! $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1; then
    $as_root apt-get update -qq >/dev/null 2>&1 || true
    $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 \
        || echo "apt-get could not install them; \`mosaic gui\` says what is missing" >&2
fi
