spillway run chat.yaml
