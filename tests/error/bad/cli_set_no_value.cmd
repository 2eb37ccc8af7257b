spillway run fit_resident.yaml --set workload.batch
