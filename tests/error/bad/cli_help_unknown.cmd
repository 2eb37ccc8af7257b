spillway help sats
