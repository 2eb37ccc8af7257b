spillway run
