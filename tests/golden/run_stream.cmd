spillway run stream.yaml
