spillway compare stream.yaml --policy resident
