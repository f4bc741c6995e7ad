/* What generated bindings and policies need of the standard library, without one: see portcullis.c. */
#ifndef PORTCULLIS_STRING_H
#define PORTCULLIS_STRING_H
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *memory, int byte, size_t length);
int memcmp(const void *left, const void *right, size_t length);
size_t strlen(const char *text);

#endif
