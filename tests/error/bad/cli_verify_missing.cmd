spillway verify nosuch.log
