spillway calibrate --fast --nvme /nosuch/folder/file -q
