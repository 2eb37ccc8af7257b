spillway run ../bad
