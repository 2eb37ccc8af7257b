spillway run fit_resident.yaml --policy prefetch:depth
