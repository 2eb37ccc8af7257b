spillway validate --machine nosuch.yaml
