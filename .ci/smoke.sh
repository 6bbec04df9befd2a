#!/usr/bin/env bash
# Runs spec/smoke on this machine's Node and on every other supported one, with Express 5 and Express 4.
# The other Nodes come from npm, each under a prefix of its own outside the project: a `node` package among the
# project's own would change which Node its scripts run on.
set -euo pipefail
cd "$(dirname "$0")/.."

versions=(22 24 26)
prefix=${EXPRESS_MCP_CI_DIR:-${TMPDIR:-/tmp}/express-mcp-ci}
platform=$(node -p '`node-${process.platform}-${process.arch}`')
status=0

[ -f dist/index.js ] || npm run --silent build

smoke() { # NODE
  local version output
  version=$("$1" --version)
  for express in express express4; do
    output=$(timeout 120 "$1" spec/smoke/smoke.mjs "$express" 2>&1) || status=1
    printf 'node %s, %s: %s\n' "$version" "$express" "$output"
    # How many it was, for whoever counts.
    grep -E '^[0-9]+ passed, [0-9]+ failed$' <<<"$output" >>"${CI_COUNTS:-/dev/null}" || status=1
  done
}

smoke "$(command -v node)"
for version in "${versions[@]}"; do
  home="$prefix/node-$version"
  binary="$home/node_modules/$platform/bin/node"
  if ! "$binary" --version >/dev/null 2>&1; then
    mkdir -p "$home"
    npm install --prefix "$home" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "$platform@$version"
  fi
  smoke "$binary"
done
exit "$status"
