spillway validate --fast --quiet --machine alias_cycle.yaml 2>&1 >/dev/null | sed "s|: /.*/tests/error/bad/|: |; s|^/.*/tests/error/bad/||" >&2; exit 2
