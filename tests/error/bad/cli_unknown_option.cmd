spillway run unit_wrong.yaml --polcy x
