spillway help policy resdent
