spillway run unit_wrong.yaml --policy
