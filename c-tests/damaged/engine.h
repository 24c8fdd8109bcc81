/* The engine's library, loaded by hand. */
#ifndef ZEROBIND_DAMAGED_ENGINE_H
#define ZEROBIND_DAMAGED_ENGINE_H

/* The library that an environment variable names; ends the process where there is none. */
void *engine_library(const char *variable);
/* Puts the address of a function into the function pointer at `place`. */
void engine_function(void *library, const char *name, void *place);

#endif
