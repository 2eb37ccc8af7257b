spillway run fit_resident.yaml --set machine.ram=64
