/* Figures as people say them: "1,620,093", "3.75 s", "1.9 ms", "26.65 files/s". */
#pragma once
#include <stdint.h>

enum { WORDS = 40 }; /* room for any of them */

/* Each returns text. */
char *words_count(double value, char text[WORDS]); /* rounded to a whole number, thousands apart */
char *words_seconds(double value, char text[WORDS]); /* three digits, in s, ms, µs or ns */
char *words_digits(double value, char text[WORDS]);  /* three digits or all before the point */
char *words_bytes(double value, char text[WORDS]);   /* three digits, in B, KiB, MiB, ... */
/* Of what a phase's load counts: "1,750,000 files", or bytes in the unit that fits, "200 MiB"; and the same per
 * second. */
char *words_load(double value, const char *unit, char text[WORDS]);
char *words_rate(double value, const char *unit, char text[WORDS]);
char *words_percent(double share, char text[WORDS]); /* "51 %" */
