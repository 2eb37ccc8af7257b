spillway trace gen fit_resident.yaml
