spillway compare stream.yaml --policy resident,demand,prefetch,prefetch:depth=4,split
