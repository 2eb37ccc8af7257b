spillway --help
