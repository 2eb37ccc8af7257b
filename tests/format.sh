#!/bin/sh
# format.sh [--fix]: is every C file as clang-format 14 with .clang-format writes it? Versions differ in
# what they write, so no other one will do. Exit 77 (skipped) without it.
set -eu
cd "$(dirname "$0")/.."
command -v clang-format-14 >/dev/null || { echo "clang-format-14 is not installed"; exit 77; }
find . \( -name '.?*' -o -path './build*' \) -prune -o \( -name '*.c' -o -name '*.h' \) -print | LC_ALL=C sort |
  if [ "${1-}" = --fix ]; then
    xargs clang-format-14 -i
  else
    xargs clang-format-14 --dry-run --Werror --ferror-limit=1
  fi
