spillway help stats
