/*
 * expanded.c: see expanded.h.
 */
#include "base/expanded.h"

#include "nodes/primnodes.h"
#include "nodes/supportnodes.h"
#include "utils/memutils.h"

#include "base/call.h"

#define EXPANDED_FILTER_MAGIC 0x53424c4d

static Size
get_flat_size(ExpandedObjectHeader *header)
{
	return VARSIZE(flat_filter((ExpandedFilter *) header));
}

static void
flatten_into(ExpandedObjectHeader *header, void *result, Size size)
{
	struct varlena *flat = flat_filter((ExpandedFilter *) header);

	Assert(size == VARSIZE(flat));
	copy_in_pieces(result, flat, size);
	if (((ExpandedFilter *) header)->is_state)
		expanded_filter_changed((ExpandedFilter *) header);
}

static const ExpandedObjectMethods methods = {get_flat_size, flatten_into};

ExpandedFilter *
expanded_filter(Datum value)
{
	ExpandedFilter *filter;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return NULL;
	filter = (ExpandedFilter *) DatumGetEOHP(value);
	return filter->magic == EXPANDED_FILTER_MAGIC && filter->hdr.eoh_methods == &methods ? filter : NULL;
}

ExpandedFilter *
expanded_filter_to_change(Datum value)
{
	return VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(value)) ? expanded_filter(value) : NULL;
}

bool
adds_to_variable(FunctionCallInfo fcinfo)
{
	Node	   *call = fcinfo->flinfo->fn_expr;
	List	   *arguments = NIL;
	Param	   *first;

	if (call != NULL && IsA(call, FuncExpr))
		arguments = ((FuncExpr *) call)->args;
	else if (call != NULL && IsA(call, OpExpr))
		arguments = ((OpExpr *) call)->args;
	if (arguments == NIL)
		return false;
	first = linitial(arguments);
	return IsA(first, Param) && first->paramkind == PARAM_EXTERN;
}

static ExpandedFilter *
make_in(MemoryContext context, FlattenFilter flatten)
{
	ExpandedFilter *filter = MemoryContextAllocZero(context, sizeof(ExpandedFilter));

	EOH_init_header(&filter->hdr, &methods, context);
	filter->magic = EXPANDED_FILTER_MAGIC;
	filter->flatten = flatten;
	return filter;
}

ExpandedFilter *
make_expanded_filter(FlattenFilter flatten)
{
	return make_in(AllocSetContextCreate(result_memory(), "expanded filter", ALLOCSET_START_SMALL_SIZES), flatten);
}

ExpandedFilter *
make_expanded_state(FunctionCallInfo fcinfo, FlattenFilter flatten)
{
	static const char *const name = "streambloom states";
	MemoryContext parent;
	MemoryContext shared;
	ExpandedFilter *state;

	if (!AggCheckCallContext(fcinfo, &parent))
		return make_expanded_filter(flatten);
	for (shared = parent->firstchild; shared != NULL && shared->name != name; shared = shared->nextchild)
		;
	if (shared == NULL)
		shared = AllocSetContextCreateInternal(parent, name, ALLOCSET_DEFAULT_SIZES);
	state = make_in(shared, flatten);
	state->is_state = true;
	return state;
}

/*
 * Returns a pointer in a small block of its own, not one inside the object. finalize_aggregate() of PostgreSQL 15
 * copies a result that is not allocated in the current context, and a pointer inside the object would not count as
 * allocated there.
 */
Datum
lend_filter(struct varlena *flat)
{
	ExpandedFilter *filter = palloc0(sizeof(ExpandedFilter));
	void	   *pointer = palloc(EXPANDED_POINTER_SIZE);

	EOH_init_header(&filter->hdr, &methods, CurrentMemoryContext);
	memcpy(filter->hdr.eoh_rw_ptr, filter->hdr.eoh_ro_ptr, EXPANDED_POINTER_SIZE);
	filter->magic = EXPANDED_FILTER_MAGIC;
	filter->flat = flat;
	memcpy(pointer, filter->hdr.eoh_ro_ptr, EXPANDED_POINTER_SIZE);
	return PointerGetDatum(pointer);
}

struct varlena *
flat_filter(ExpandedFilter *filter)
{
	if (filter->flat == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(filter->hdr.eoh_context);

		filter->flat = filter->flatten(filter->state);
		MemoryContextSwitchTo(caller);
	}
	return filter->flat;
}

void
expanded_filter_changed(ExpandedFilter *filter)
{
	if (filter->state != NULL && filter->flat != NULL)
	{
		pfree(filter->flat);
		filter->flat = NULL;
	}
}

/*
 * The support function of functions that add to their first argument. It says that the argument may be a variable
 * that is changed in place. If such a function fails halfway, because a later element is of another kind or a counter
 * overflows, the variable keeps what was added before. That is allowed: a filter may have more than was asked for, as
 * long as nothing is missing and no count is too low.
 */
static Node *
modify_first_argument(Node *request)
{
#if FILTERS_EXPAND
	if (IsA(request, SupportRequestModifyInPlace))
	{
		SupportRequestModifyInPlace *modify = (SupportRequestModifyInPlace *) request;
		Param	   *first = linitial(modify->args);

		if (first != NULL && IsA(first, Param) && first->paramkind == PARAM_EXTERN && first->paramid == modify->paramid)
			return (Node *) first;
	}
#endif
	return NULL;
}

SB_FUNCTION(bf_add_support);
Datum
bf_add_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(modify_first_argument((Node *) PG_GETARG_POINTER(0)));
}

SB_FUNCTION(tbf_add_support);
Datum
tbf_add_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(modify_first_argument((Node *) PG_GETARG_POINTER(0)));
}
