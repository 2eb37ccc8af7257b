#!/bin/sh
# Does check.sh catch what it is for? Plants one breach at a time in a small tree that is clean otherwise.
set -eu
check=$(cd "$(dirname "$0")" && pwd)/check.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
n=0

fresh() {
  cd /
  rm -rf "$tree"
  mkdir -p "$tree/sim/base" "$tree/sim/policy" "$tree/traces/source" "$tree/validate" "$tree/backends" \
    "$tree/tests/unit"
  cd "$tree"
  echo '#include <stdint.h>' >sim/base/vec.h
  echo '#include "sim/base/vec.h"' >sim/op.h
  echo '#include "sim/op.h"' >sim/policy.h
  echo '#include "sim/policy.h"' >sim/plan.h
  echo '#include "sim/policy.h"' >sim/policy/lru.c
  echo '#include "sim/op.h"' >validate/verify.h
  echo '#include <CUnit/Basic.h>' >tests/check.h
  printf '#include "check.h"\n#include "sim/plan.h"\n' >tests/unit/plan.c
}

# caught FILE LINE PART: with LINE appended to FILE, check.sh fails, and its line on FILE contains PART.
caught() {
  fresh
  printf '%s\n' "$2" >>"$1"
  if "$check" "$tree" >"$tree/out" 2>&1; then
    echo "not caught: $2 in $1"
    exit 1
  fi
  if ! grep -F "$1:" "$tree/out" | grep -qF "$3"; then
    echo "caught, but not explained: $2 in $1"
    cat "$tree/out"
    exit 1
  fi
  n=$((n + 1))
}

fresh
"$check" "$tree"

caught sim/base/vec.h '#include "sim/op.h"' 'base may not include sim/op.h'
caught sim/policy/lru.c '#include "sim/plan.h"' 'policy may not include sim/plan.h'
caught sim/policy/lru.h '#include <stdio.h>
#include "sim/policy/lru.h"' 'policy may not include sim/policy/lru.h'
caught sim/op.h '#  include "validate/verify.h"' 'core may not include validate/verify.h'
caught validate/verify.h '#include "sim/plan.h"' 'validate may not include sim/plan.h'
caught traces/source/llm.c '#include "sim/policy/lru.c"' 'source may not include sim/policy/lru.c'
caught sim/policy/lru.c '#include "../policy.h"' 'not written from the root'
caught tests/unit/plan.c '#include "nothing.h"' 'not there'
caught sim/op.h '#include <yaml.h>' 'other files only'
caught sim/policy/lru.c '#include <simgrid/host.h>' 'other files only'
caught backends/null.c '#include <cuda_runtime_api.h>' 'other files only'
caught sim/op.h '#include <glib.h>' 'neither C11, POSIX'
caught sim/policy/lru.c "$(seq 700 | sed 's/.*/;/')" '701 lines'
caught extra.c ';' 'no row'
echo "$n planted breaches caught"
