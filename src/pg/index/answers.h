/*
 * answers.h: whether indexes may be asked while a statement is planned (estimate.h), and the memory of what they have
 * answered. The same question is asked several times: the cost of an index is estimated more than once, and each
 * partition of a table has an index of its own. So answers are kept for the rest of the statement, and if enough
 * partitions were asked, the mean of their answers counts as the answer of the other partitions.
 */
#ifndef STREAMBLOOM_PG_INDEX_ANSWERS_H
#define STREAMBLOOM_PG_INDEX_ANSWERS_H

#include "base/compat.h"

#include "nodes/pathnodes.h"

/*
 * If the indexes of this many partitions of a table were asked the same question, the mean of their answers usually
 * stands for the answers of the other partitions.
 */
#define BF_MOST_CHILDREN 8

/* A table that a query names and that has partitions or children, or is part of a UNION ALL. */
typedef struct BfParent
{
	const PlannerInfo *query;	/* a subquery has a range table of its own */
	Index		table;			/* 0: there is no such table */
} BfParent;

static inline bool
bf_index_is_same_parent(BfParent a, BfParent b)
{
	return a.query == b.query && a.table == b.table;
}

/* The answers of one statement. They are forgotten with the memory in which it is planned. */
typedef struct BfAnswers
{
	const PlannerGlobal *statement;
	MemoryContext context;
	List	   *all;			/* of conditions whose values are known (estimate.c) */
	List	   *common;			/* of bf_index_estimate_common() (estimate_common.c) */
	List	   *queries;		/* see bf_index_known_queries() */
	Oid			readable;		/* a table that the user `reader` may read; 0: none is known */
	Oid			reader;
	const PlannerInfo *counted_in;	/* the query in which the partitions of a table were counted; NULL: none were */
	Index		counted;		/* the table whose partitions were counted */
	int			partitions;		/* the number of these partitions */
	MemoryContextCallback forget;
} BfAnswers;

/*
 * The answers of this statement. If another statement is planned meanwhile, its answers take the place of these. Then
 * some questions of this statement are asked twice.
 */
extern BfAnswers *bf_index_answers_of(PlannerInfo *root);

/*
 * The list in which clause.c keeps the statement's conditions on keys that it has taken apart; empty at first. List and
 * entries live in root->planner_cxt. The pointer is valid until a function of an operator class is called: the function
 * may plan another statement.
 */
extern List **bf_index_known_queries(PlannerInfo *root);

/* May an index of this table be asked at all? */
extern bool bf_index_may_ask(PlannerInfo *root, const IndexOptInfo *info);

/* May the user read this column of the index? Rights are those on the table that the query names. */
extern bool bf_index_may_read(PlannerInfo *root, const IndexOptInfo *info, int column);

extern void bf_index_answers_init(void);

#endif
