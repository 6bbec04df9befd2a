#!/usr/bin/env bash
# `redis-server` on the PATH, from Debian's packages where it is not there yet. The specs start it, on ports of their own.
set -euo pipefail
command -v redis-server >/dev/null && exit 0
sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
$sudo apt-get update -qq
# No service is started with it.
$sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends redis-server
redis-server --version
