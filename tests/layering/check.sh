#!/bin/sh
# check.sh [ROOT]: does every #include keep to layers.txt, and every file to its length? One line a breach,
# `file:line: what`; exit 1 if there is any. Lengths: over 500 lines is said, over 700 refused.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/../..}"
find . \( -name '.?*' -o -path './build*' \) -prune -o \
  \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) -print | sed 's|^\./||' | LC_ALL=C sort >"${TMPDIR:-/tmp}/layering.$$"
trap 'rm -f "${TMPDIR:-/tmp}/layering.$$"' EXIT
awk -v rows="$here/layers.txt" '
function glob(g) { gsub(/[.]/, "[.]", g); gsub(/[*]/, "[^/]*", g); return "^" g "$" }
function fail(text) { print text; bad++ }
function layer_of(file,   i, k) {
  for (i = 1; i <= n; i++) for (k = 1; k <= pats[i]; k++) if (file ~ pat[i, k]) return name[i]
  return ""
}
function system_header(h) {
  return h ~ /^(assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|time|wchar|wctype|aio|dirent|dlfcn|fcntl|fnmatch|getopt|glob|iconv|langinfo|libgen|malloc|poll|pthread|pwd|regex|sched|semaphore|spawn|sysexits|termios|unistd)[.]h$/ ||
    h ~ /^(sys|linux|bits)\//
}
BEGIN {
  while ((getline line < rows) > 0) {
    m = split(line, w, /[ \t]+/)
    if (w[1] == "only") { o++; head[o] = glob(w[2]); for (i = 3; i <= m; i++) only[o, glob(w[i])] = 1 }
    if (w[1] != "layer") continue
    name[++n] = w[2]
    for (i = 3; i <= m && w[i] != ":"; i++) pat[n, ++pats[n]] = glob(w[i])
    for (i++; i <= m; i++) may[w[2], w[i]] = 1
  }
  if (!n) { print rows ": no layers"; exit 2 }
}
{ files[++f] = $0; exists[$0] = 1 }
END {
  for (k = 1; k <= f; k++) {
    file = files[k]; mine = layer_of(file); lines = 0
    if (mine == "") fail(file ":1: no row of tests/layering/layers.txt fits this file")
    while ((getline line < file) > 0) {
      lines++
      if (line !~ /^[ \t]*#[ \t]*include/) continue
      h = line; sub(/^[^<"]*[<"]/, "", h); sub(/[>"].*/, "", h)
      where = file ":" lines ": "
      if (line ~ /</) {
        found = 0
        for (i = 1; i <= o; i++) if (h ~ head[i]) {
          found = 1; allowed = 0
          for (key in only) { split(key, p, SUBSEP); if (p[1] == i && file ~ p[2]) allowed = 1 }
          if (!allowed) fail(where "<" h "> is included by other files only (tests/layering/layers.txt)")
        }
        if (!found && !system_header(h)) fail(where "<" h "> is neither C11, POSIX nor in tests/layering/layers.txt")
        continue
      }
      target = h
      if (!(h in exists)) { # beside the file, or in tests/: tests only
        dir = file; sub(/[^\/]*$/, "", dir); target = dir h
        while (sub(/[^\/]+\/[.][.]\//, "", target)) {}
        if (!(target in exists)) target = "tests/" h
        if (mine != "tests") { fail(where "\"" h "\" is not written from the root of the source tree"); continue }
        if (!(target in exists)) { fail(where "\"" h "\" is not there"); continue }
      }
      theirs = layer_of(target)
      if (!((mine, theirs) in may)) fail(where mine " may not include " target " (" theirs ")")
    }
    close(file)
    if (lines > 700) fail(file ":700: " lines " lines; no file has more than 700: split it")
    else if (lines > 500) print file ":500: warning: " lines " lines; is there a reason to go past 500?"
  }
  if (bad) { print bad " breaches in " f " files"; exit 1 }
  print f " files keep to the layers"
}' "${TMPDIR:-/tmp}/layering.$$"
