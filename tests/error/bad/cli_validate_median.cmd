spillway validate --median five
