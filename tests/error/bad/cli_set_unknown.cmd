spillway run fit_resident.yaml --set workload.bach=2
