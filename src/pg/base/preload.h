/* preload.h: whether the library was loaded when the session began. */
#ifndef STREAMBLOOM_PG_PRELOAD_H
#define STREAMBLOOM_PG_PRELOAD_H

/* Remembers whether the session begins. If CREATE EXTENSION loads the library, raises the notice at its end. */
extern void preload_init(void);

/* Raises a notice that says what to set, once in a session, unless the library was loaded when the session began. */
extern void preload_notice(void);

#endif
