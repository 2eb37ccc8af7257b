spillway model data/truncated.safetensors --config data/small.json
