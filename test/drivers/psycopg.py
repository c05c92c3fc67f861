import psycopg

with psycopg.connect() as db:
    a, b = db.execute("SELECT hosts @> %s, hosts @> %s FROM month_filter", ("192.0.2.7", "192.0.2.200")).fetchone()
    print(f"192.0.2.7: {a}, 192.0.2.200: {b}")
    print("one of 5000 and 7:", db.execute("SELECT bf_contains_any(uids, %s) FROM month_filter", ([5000, 7],)).fetchone()[0])
    print("/page/1: %.0f hits" % db.execute("SELECT tbf_count(hits, %s) FROM month_filter", ("/page/1",)).fetchone())
    print("like %%page/3%%: %d visits" % db.execute("SELECT count(*) FROM visit WHERE url LIKE %s", ("%page/3%",), prepare=True).fetchone())
    print("192.0.2.7:", len(db.execute("SELECT * FROM chunk_scan(NULL::visit, 'host', %s)", ("192.0.2.7",), prepare=True).fetchall()), "visits")
    with db.cursor() as cursor:    # filters in binary, as another server would get them
        with cursor.copy("COPY (SELECT 2, hosts, uids, hits FROM month_filter) TO STDOUT (FORMAT binary)") as out:
            filters = b"".join(out)
        with cursor.copy("COPY month_filter FROM STDIN (FORMAT binary)") as into:
            into.write(filters)
    print("and back again:", db.execute("SELECT count(DISTINCT hosts) = 1 FROM month_filter").fetchone()[0])
