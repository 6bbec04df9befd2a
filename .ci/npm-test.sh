#!/usr/bin/env bash
# `npm test`, as the README has it, with the specs counted one by one.
set -euo pipefail
cd "$(dirname "$0")/.."

report=$(mktemp)
trap 'rm -f "$report"' EXIT
status=0
npm test -- --ci --json --outputFile="$report" || status=$?
# No report: a check before the specs failed. That is one failure; what the specs say is worth knowing all the same.
if [ ! -s "$report" ]; then
  echo '0 passed, 1 failed' >>"${CI_COUNTS:-/dev/null}"
  npx jest --ci --json --outputFile="$report" || true
fi
# A suite that could not run at all is a failure of its own.
node -e '
  const text = require("node:fs").readFileSync(process.argv[1], "utf8");
  if (text === "") process.exit();
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(text);
  console.log(`${numPassedTests} passed, ${numFailedTests + numRuntimeErrorTestSuites} failed`);
' "$report" >>"${CI_COUNTS:-/dev/null}"
exit "$status"
