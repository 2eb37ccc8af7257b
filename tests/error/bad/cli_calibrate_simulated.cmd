spillway calibrate --backend null
