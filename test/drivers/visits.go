package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v4"
)

func word(answer bool) string { return strings.Title(fmt.Sprint(answer)) }

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, "") // PGHOST, PGPORT, PGUSER and PGDATABASE
	if err != nil {
		panic(err)
	}
	// pgx prepares each statement. The first row of its answer:
	ask := func(sql string, parameters []interface{}, answers ...interface{}) {
		if err := db.QueryRow(ctx, sql, parameters...).Scan(answers...); err != nil {
			panic(err)
		}
	}
	type p = []interface{}
	var a, b bool
	var n int64
	var hits float64
	var filter string
	ask("SELECT hosts @> $1, hosts @> $2 FROM month_filter", p{"192.0.2.7", "192.0.2.200"}, &a, &b)
	fmt.Printf("192.0.2.7: %s, 192.0.2.200: %s\n", word(a), word(b))
	ask("SELECT bf_contains_any(uids, $1) FROM month_filter", p{[]int64{5000, 7}}, &a)
	fmt.Println("one of 5000 and 7:", word(a))
	ask("SELECT tbf_count(hits, $1) FROM month_filter", p{"/page/1"}, &hits)
	fmt.Printf("/page/1: %.0f hits\n", hits)
	ask("SELECT count(*) FROM visit WHERE url LIKE $1", p{"%page/3%"}, &n)
	fmt.Printf("like %%page/3%%: %d visits\n", n)
	ask("SELECT count(*) FROM chunk_scan(NULL::visit, 'host', $1)", p{"192.0.2.7"}, &n)
	fmt.Printf("192.0.2.7: %d visits\n", n)
	ask("SELECT hosts::text FROM month_filter", nil, &filter)
	ask("SELECT hosts = $1::text::bf FROM month_filter", p{filter}, &a)
	fmt.Println("and back again:", word(a))
}
