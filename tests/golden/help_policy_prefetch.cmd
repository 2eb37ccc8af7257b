spillway help policy prefetch
