spillway rnu
