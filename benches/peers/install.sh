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

# These packages would start servers; the peers start their own, on Unix sockets, on loopback ports of their choice or in a network of their own.
for server in redis-server corosync nats-server; do
    case "$missing " in
    *" $server "*)
        if [ -d /run/systemd/system ]; then
            systemctl mask "$server.service"
            echo "masked $server.service; undo with: systemctl unmask $server.service"
        fi
        ;;
    esac
done

apt-get update
# shellcheck disable=SC2086 # the list is split into package names on purpose
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing
