spillway run stream.yaml --no-sensitivity --csv - | tr , "\n" | head -46
