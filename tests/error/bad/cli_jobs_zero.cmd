spillway compare unit_wrong.yaml -j 0
