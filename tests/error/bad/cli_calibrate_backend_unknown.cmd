spillway calibrate --backend hots
