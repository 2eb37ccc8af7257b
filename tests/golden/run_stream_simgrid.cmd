spillway run stream.yaml --backend simgrid --no-sensitivity
