COLUMNS=80 spillway run stream.yaml --plain --no-sensitivity
