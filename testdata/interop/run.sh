#!/usr/bin/env bash
# Starts a gateway on a free port and has the public RAILGUN engine read the
# notes in its quotes. Everything is installed and built in .scratch/interop.
#
#   testdata/interop/run.sh [wallets]
#
# GATEWAY names a built gateway to use instead of the one in this tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=testdata/interop
scratch=.scratch/interop
wallets=${1:-100}

.ci/npm interop
cp "$here"/interop.mjs "$scratch"/

gateway=${GATEWAY:-}
if [ -z "$gateway" ]; then
  gateway=$scratch/gateway
  go build -o "$gateway" ./cmd/gateway
fi

read -r port admin < <(node -e '
  const { createServer } = require("node:net");
  const listen = () => new Promise((done) => { const s = createServer(); s.listen(0, "127.0.0.1", () => done(s)); });
  Promise.all([listen(), listen()]).then((servers) => {
    console.log(...servers.map((s) => s.address().port));
    servers.forEach((s) => s.close());
  });')
base=http://127.0.0.1:$port

LISTEN_ADDR=127.0.0.1:$port ADMIN_ADDR=127.0.0.1:$admin RATE_LIMIT=0 LOG_LEVEL=warn \
  "$gateway" >"$scratch/gateway.log" 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true' EXIT

tries=0
until curl -fsS -o /dev/null "$base/v3/swap/healthcheck" 2>/dev/null; do
  tries=$((tries + 1))
  if [ "$tries" -gt 300 ] || ! kill -0 "$pid" 2>/dev/null; then
    echo "the gateway did not start:" >&2
    cat "$scratch/gateway.log" >&2
    exit 1
  fi
  sleep 0.1
done

node "$scratch/interop.mjs" "$base" "$wallets"
