#!/bin/sh
# run.sh check|update BIN NAME…: runs NAME.cmd here with BIN first in the path, and holds what it prints
# against NAME.out, or writes that. $TMP is an empty folder that is removed afterwards.
set -u
mode=$1 bin=$2
shift 2
cd "$(dirname "$0")" || exit 2
export LC_ALL=C.UTF-8 COLUMNS=100 PATH="$bin:$PATH" SPILLWAY_WORKER="$bin/spillway-worker"
export SPILLWAY_DATA="$(cd ../.. && pwd)"
unset NO_COLOR
bad=0
for name in "$@"; do
  TMP=$(mktemp -d) || exit 2
  export TMP
  sh "./$name.cmd" >"$TMP/out" 2>&1
  echo "[exit $?]" >>"$TMP/out"
  sed -i -e "s|$SPILLWAY_DATA|DATA|g" -e "s|$TMP|TMP|g" "$TMP/out"
  if [ "$mode" = update ]; then
    cp "$TMP/out" "$name.out"
  elif ! diff -u "$name.out" "$TMP/out"; then
    bad=1
  fi
  rm -rf "$TMP"
done
exit $bad
