#!/bin/sh
# Installs those of the named Debian packages that are missing, and says which.
set -eu

missing=
for package in "$@"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "nothing to install: $*"
    exit 0
fi
echo "installing:$missing"
if [ "$(id -u)" -ne 0 ]; then
    echo "run as root: apt-get install --no-install-recommends$missing" >&2
    exit 77
fi

# The package would start a server on a TCP port; the peers start their own, on a Unix socket or a loopback port of their choice.
case "$missing" in
*redis-server*)
    if [ -d /run/systemd/system ]; then
        systemctl mask redis-server.service
        echo "masked redis-server.service; undo with: systemctl unmask redis-server.service"
    fi
    ;;
esac

apt-get update
# shellcheck disable=SC2086 # the list is split into package names on purpose
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing
