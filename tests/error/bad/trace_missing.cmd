spillway trace info nosuch.swt
