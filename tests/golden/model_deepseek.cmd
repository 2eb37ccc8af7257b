spillway model deepseek-v3
