spillway run nosuch
