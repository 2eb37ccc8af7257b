spillway run fit_resident.yaml --policy split --no-sensitivity --quiet --json nosuch/x.json
