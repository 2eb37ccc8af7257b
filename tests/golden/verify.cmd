spillway run stream.yaml --quiet --op-log $TMP/ops.gz && spillway verify $TMP/ops.gz
