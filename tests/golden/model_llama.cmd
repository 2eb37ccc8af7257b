COLUMNS=80 spillway model llama-3-8b --quant q4_k_m
