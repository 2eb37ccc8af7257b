spillway trace inf x.swt
