spillway list device
