# Filled in with the first installable library.
