spillway model data/length.safetensors --config data/small.json
