spillway trace info chat.yaml
