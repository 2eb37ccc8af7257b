spillway run fit_resident.yaml --policy split --op-log /dev/null
