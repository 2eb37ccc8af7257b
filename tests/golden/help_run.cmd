spillway run --help
