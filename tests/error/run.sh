#!/bin/sh
# run.sh check|update BIN NAME…: feeds bad/NAME.* to its command and holds exit code and standard error
# against bad/NAME.err, or writes that. Nothing may be on standard output, and one line on standard error.
set -u
mode=$1 bin=$2
shift 2
cd "$(dirname "$0")/bad" || exit 2
export LC_ALL=C PATH="$bin:$PATH" SPILLWAY_WORKER="$bin/spillway-worker"
export SPILLWAY_DATA="$(cd ../../.. && pwd)"
bad=0
tmp=$(mktemp -d) || exit 2
for name in "$@"; do
  input=
  for f in "$name".*; do
    case $f in *.err) ;; *) input=$f ;; esac
  done
  case $input in
    *.cmd) sh "./$input" ;;
    *.claim) spillway claims --quiet "$input" ;;
    *.yaml) spillway run "$input" --quiet --no-sensitivity ;;
    *.gguf | *.json | *.safetensors) spillway model "$input" ;;
    *.swt) spillway trace cat "$input" ;;
    *.log) spillway verify --quiet "$input" ;;
    *) echo "no input for $name" >&2 ;;
  esac >"$tmp/out" 2>"$tmp/err"
  echo "exit $?" >"$tmp/got"
  sed -e "s|$SPILLWAY_DATA|DATA|g" "$tmp/err" >>"$tmp/got"
  if [ "$mode" = update ]; then
    cp "$tmp/got" "$name.err"
  elif ! diff -u "$name.err" "$tmp/got"; then
    bad=1
  fi
  if [ -s "$tmp/out" ]; then
    echo "$name: something is on standard output:"
    head -5 "$tmp/out"
    bad=1
  fi
  if [ "$(wc -l <"$tmp/err")" != 1 ]; then
    echo "$name: standard error holds $(wc -l <"$tmp/err") lines, not one"
    bad=1
  fi
done
rm -rf "$tmp"
exit $bad
