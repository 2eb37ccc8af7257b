spillway run stream.yaml --policy resident --quiet
