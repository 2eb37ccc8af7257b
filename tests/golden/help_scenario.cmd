spillway help scenario
