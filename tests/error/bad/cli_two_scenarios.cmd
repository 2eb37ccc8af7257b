spillway run a.yaml b.yaml
