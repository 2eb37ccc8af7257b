spillway claims nosuch
