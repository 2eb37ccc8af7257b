spillway trace gen stream.yaml --set workload.blocks=4 --set workload.passes=2 -o $TMP/t.swt.gz &&
spillway trace info $TMP/t.swt.gz && spillway trace cat $TMP/t.swt.gz
