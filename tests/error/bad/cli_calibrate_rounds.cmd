spillway calibrate --rounds 1000
