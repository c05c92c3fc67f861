library(DBI)

word <- function(answer) if (answer) "True" else "False"

db <- dbConnect(RPostgreSQL::PostgreSQL())
there <- dbGetQuery(db, "SELECT hosts @> $1 AS a, hosts @> $2 AS b FROM month_filter", c("192.0.2.7", "192.0.2.200"))
cat("192.0.2.7: ", word(there$a), ", 192.0.2.200: ", word(there$b), "\n", sep = "")
# R has no arrays of SQL: write the text of one.
cat("one of 5000 and 7: ", word(dbGetQuery(db, "SELECT bf_contains_any(uids, $1) AS a FROM month_filter", "{5000,7}")$a), "\n", sep = "")
cat(sprintf("/page/1: %.0f hits\n", dbGetQuery(db, "SELECT tbf_count(hits, $1) AS hits FROM month_filter", "/page/1")$hits))
cat(sprintf("like %%page/3%%: %d visits\n", nrow(dbGetQuery(db, "SELECT * FROM visit WHERE url LIKE $1", "%page/3%"))))
cat(sprintf("192.0.2.7: %d visits\n", nrow(dbGetQuery(db, "SELECT * FROM chunk_scan(NULL::visit, 'host', $1)", "192.0.2.7"))))
filter <- dbGetQuery(db, "SELECT hosts::text, uids::text, hits::text FROM month_filter")
invisible(dbExecute(db, "INSERT INTO month_filter VALUES (2, $1, $2, $3)", unlist(filter)))
cat("and back again: ", word(dbGetQuery(db, "SELECT count(DISTINCT hosts) AS n FROM month_filter")$n == 1), "\n", sep = "")
invisible(dbDisconnect(db))
