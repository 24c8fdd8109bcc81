# The warnings that all C of this project is free of.
set(ZEROBIND_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Werror)
