spillway compare fit_resident.yaml --policy ,
