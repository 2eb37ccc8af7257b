spillway claims claims && spillway claims claims --markdown -
