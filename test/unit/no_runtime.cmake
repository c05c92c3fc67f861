# Proves that a static library needs nothing of the C++ runtime and allocates nothing:
#   cmake -D NM=nm -D READELF=readelf -D LIBRARY=libx.a -P no_runtime.cmake
# It fails if an object has a table of exception handlers, defines or uses type information, or has an undefined
# symbol of libstdc++, of the exception machinery, or of the allocator.

foreach(tool NM READELF)
	if(NOT ${tool})
		message(FATAL_ERROR "${tool} is not given")
	endif()
endforeach()

execute_process(COMMAND ${NM} --undefined-only ${LIBRARY}
	OUTPUT_VARIABLE undefined ERROR_VARIABLE complaints RESULT_VARIABLE status)
if(NOT status EQUAL 0)
	message(FATAL_ERROR "${NM} failed: ${complaints}")
endif()
execute_process(COMMAND ${NM} --defined-only ${LIBRARY}
	OUTPUT_VARIABLE defined ERROR_VARIABLE complaints RESULT_VARIABLE status)
if(NOT status EQUAL 0)
	message(FATAL_ERROR "${NM} failed: ${complaints}")
endif()
execute_process(COMMAND ${READELF} --wide --section-headers ${LIBRARY}
	OUTPUT_VARIABLE sections ERROR_VARIABLE complaints RESULT_VARIABLE status)
if(NOT status EQUAL 0)
	message(FATAL_ERROR "${READELF} failed: ${complaints}")
endif()
if(NOT sections MATCHES "\\.text" OR NOT defined MATCHES " T ")
	message(FATAL_ERROR "${LIBRARY} has no code: nothing would be proved")
endif()

set(found "")
# _ZSt, _ZNSt, _ZNKSt: std::. __cxa, __gxx, _Unwind: exceptions. _ZTI, _ZTS, _ZTV: type information, its names and
# virtual tables. _Znw, _Zna, _Zdl, _Zda: operators new and delete.
string(REGEX MATCHALL
	" U (_ZSt|_ZNSt|_ZNKSt|_ZT[ISV]|__cxa_|__gxx_|_Unwind_|_Zn[wa]|_Zd[la]|malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|free|strdup|abort|exit)[^\n]*"
	symbols "${undefined}")
list(APPEND found ${symbols})
string(REGEX MATCHALL " [A-Za-z] _ZT[IS][^\n]*" symbols "${defined}")
list(APPEND found ${symbols})
string(REGEX MATCHALL "\\.gcc_except_table[^ \n]*" symbols "${sections}")
list(APPEND found ${symbols})

if(found)
	list(REMOVE_DUPLICATES found)
	string(REPLACE ";" "\n  " found "${found}")
	message(FATAL_ERROR "the core may not need:\n  ${found}")
endif()
