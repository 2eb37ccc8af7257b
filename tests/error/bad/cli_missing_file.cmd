spillway run nosuch.yaml
