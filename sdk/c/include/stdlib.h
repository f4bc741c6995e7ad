/* What generated bindings need of the standard library, without one: see portcullis.c. */
#ifndef PORTCULLIS_STDLIB_H
#define PORTCULLIS_STDLIB_H
#include <stddef.h>

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void free(void *memory);
_Noreturn void abort(void);

#endif
