spillway run fit_resident.yaml --policy residnt
