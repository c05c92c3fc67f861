-- expanded: filters in PL/pgSQL variables, which from PostgreSQL 18 on are changed in place

SET timezone = 'UTC';
-- a loop that adds is one aggregate, item by item
DO $$
DECLARE
	b bf := bf_empty(1000);
	t tbf := tbf_empty(1000, half_life => NULL);
	many bf := bf_empty(2000);
	list bf := bf_agg(0);
	asked int := 0;
BEGIN
	FOR i IN 1 .. 1000 LOOP
		b := bf_add(b, i);
		t := tbf_add(t, i % 100, '2024-01-01');
		many := bf_add_all(many, ARRAY[i, i + 1000]);
		list := bf_add(list, i);
		asked := asked + (list @> i AND i <@ list AND NOT list @> -i)::int;
	END LOOP;
	RAISE NOTICE 'bf: %, tbf: %, many: %', b = (SELECT bf_agg(i, 1000, 0.01) FROM generate_series(1, 1000) i),
		t = (SELECT tbf_agg(i % 100, '2024-01-01', NULL, 1, 1000, 0.01) FROM generate_series(1, 1000) i), many = (SELECT bf_agg(i, 2000, 0.01) FROM generate_series(1, 2000) i);
	RAISE NOTICE 'a list: %, % times asked', list = (SELECT bf_agg(i) FROM generate_series(0, 1000) i), asked;
	RAISE NOTICE 'asked: % %', b @> 1000 AND NOT b @> 12345678, t -> 7;
END
$$;
-- in place a fraction is rounded when the value is stored, and not with each hit
DO $$
DECLARE
	f tbf := tbf_empty(half_life => NULL);
BEGIN
	FOR i IN 1 .. 100 LOOP
		f := tbf_add(f, 1, now(), 0.01);
	END LOOP;
	RAISE NOTICE 'never too few: %, in place from 18 on: %', f -> 1 >= 1, (f -> 1 < 1.1) = (current_setting('server_version_num')::int >= 180000);
END
$$;
-- a copy is a copy: of a variable, a parameter, an element, a row
CREATE FUNCTION pg_temp.more(f bf) RETURNS bf LANGUAGE plpgsql AS $$ BEGIN f := bf_add(f, 3); f := f || 4; RETURN f; END $$;
DO $$
DECLARE
	a bf := bf_add(bf_empty(100), 1);
	b bf;
	c bf;
	list bf[];
	r record;
	t tbf := tbf_add(tbf_empty(100), 1);
	u tbf;
BEGIN
	a := bf_add(a, 2);
	b := a;
	a := bf_add(a, 10);
	b := bf_add(b, 20);
	RAISE NOTICE 'a: % %, b: % %', a @> 10, a @> 20, b @> 10, b @> 20;
	c := pg_temp.more(a);
	RAISE NOTICE 'a: % %, c: % %', a @> 3, a @> 4, c @> 3 AND c @> 10, c @> 4;
	list := ARRAY[a, b];
	list[1] := bf_add(list[1], 5);
	SELECT a AS a, b AS b INTO r;
	a := bf_add(a, 6);
	RAISE NOTICE 'list: % %, row: %, a: %', list[1] @> 5, list[1] @> 6, r.a @> 6, a @> 5;
	u := t;
	t := tbf_add(t, 2);
	u := tbf_add_all(u, ARRAY[3, 3]);
	RAISE NOTICE 't: % %, u: % %', t @> 2, t @> 3, u @> 2, round((u -> 3)::numeric, 1);
	a := bf_add(a, NULL::int);
	RAISE NOTICE 'null: %', a IS NULL;
END
$$;
-- an error leaves the variable as it was, and usable
DO $$
DECLARE
	b bf := bf_add(bf_empty(100), 1);
	t tbf := tbf_add(tbf_empty(100), 1);
BEGIN
	b := bf_add(b, 2);
	t := tbf_add(t, 2);
	BEGIN
		b := bf_add(b, 'text'::text);
	EXCEPTION WHEN datatype_mismatch THEN
		RAISE NOTICE 'bf: %', sqlerrm;
	END;
	BEGIN
		t := tbf_add(t, 3, weight => -1);
	EXCEPTION WHEN invalid_parameter_value THEN
		RAISE NOTICE 'tbf: %', sqlerrm;
	END;
	BEGIN
		t := tbf_add(t, 3, at => now() + interval '2 days');
	EXCEPTION WHEN datetime_field_overflow THEN
		RAISE NOTICE 'tbf: too late';
	END;
	b := bf_add(b, 3);
	t := tbf_add(t, 4);
	RAISE NOTICE 'bf: % %, tbf: % % %', b @> 2, b @> 3, t @> 2, t @> 3, t @> 4;
END
$$;
-- so does a total that is too large: the hit is refused when it is added, not the filter when it is read
DO $$
DECLARE
	t tbf := tbf_empty(NULL, half_life => NULL);
BEGIN
	t := tbf_add(t, 1);
	FOR i IN 1 .. 5 LOOP
		BEGIN
			t := tbf_add_all(t, array_fill(i, ARRAY[100000]), weight => 8e9);
		EXCEPTION WHEN numeric_value_out_of_range THEN
			RAISE NOTICE 'tbf: %', sqlerrm;
		END;
	END LOOP;
	t := tbf_add(t, 2);
	RAISE NOTICE 'tbf: % % %, total %', t -> 1, t -> 2, t -> 5, tbf_total(t);
END
$$;
-- elements that are NULL are no hits, so they do not count towards that total
DO $$
DECLARE
	t tbf := tbf_add(tbf_empty(half_life => NULL), 1);
BEGIN
	t := tbf_add_all(t, array_fill(NULL::int, ARRAY[300000]) || 1, weight => 8589934591);
	t := tbf_add_all(t, array_fill(NULL::int, ARRAY[300000]), weight => 8589934591);
	BEGIN
		t := tbf_add_all(t, ARRAY(SELECT nullif(i % 10, 0) FROM generate_series(1, 300000) i), weight => 8589934591);
	EXCEPTION WHEN numeric_value_out_of_range THEN
		RAISE NOTICE 'tbf: %', sqlerrm;
	END;
	RAISE NOTICE 'tbf: % %, total %', t -> 1, t -> 2, tbf_total(t);
END
$$;
-- from the variable to everywhere else: a table (in the row and in TOAST), text, an aggregate, another function
CREATE TABLE expanded (b bf, t tbf);
DO $$
DECLARE
	b bf := bf_empty(100000);
	t tbf := tbf_empty(100);
BEGIN
	FOR i IN 1 .. 100 LOOP
		b := bf_add(b, i);
		t := tbf_add(t, i, '2024-01-01');
		IF i % 50 = 0 THEN
			INSERT INTO expanded VALUES (b, t);
		END IF;
	END LOOP;
	RAISE NOTICE 'text: %, binary: %', b::text::bf = b AND t::text::tbf = t, tbf_send(t)::tbf = t AND b::bytea = bf_send(b);
	RAISE NOTICE 'info: %, %', (bf_info(b)).expected_items, round((tbf_info(t)).total);
	RAISE NOTICE 'combined: %, %', (b | bf_add(bf_empty(100000), -1)) @> -1, (t + t) @> 1;
	RAISE NOTICE 'aggregated: %, %', (SELECT bf_union_agg(b) @> 100 FROM generate_series(1, 3)), (SELECT tbf_merge_agg(t) @> 100 FROM generate_series(1, 3));
	t := tbf_decay(t, '2024-03-01');
	t := tbf_add(t, 1000, '2024-03-01');
	RAISE NOTICE 'decayed: %', tbf_count(t, 1000, '2024-03-01') BETWEEN 1 AND 1.2;
END
$$;
SELECT b @> 50 AS b_50, b @> 100 AS b_100, t @> 50 AS t_50, t @> 100 AS t_100 FROM expanded ORDER BY 2;
SELECT bf_add(bf_add(b, 1000), 1001) @> 1000 AS nested, tbf_add(tbf_add(t, 1000), 1000) -> 1000 >= 2 AS nested FROM expanded;
UPDATE expanded SET b = bf_add(b, 2000), t = tbf_add(t, 2000);
SELECT b @> 2000 AS b, t @> 2000 AS t, b @> 3 AS kept FROM expanded;
DROP TABLE expanded;
-- with all the options
DO $$
DECLARE
	hot tbf := tbf_empty(100, half_life => NULL, top => 3);
	raised tbf := tbf_empty(100, half_life => NULL, minimum_increase => true);
	apart tbf := tbf_empty(100, half_life => NULL, recurring_minimum => true);
BEGIN
	FOR i IN 1 .. 400 LOOP
		hot := tbf_add(hot, i % 2);
		raised := tbf_add(raised, i % 200);
		apart := tbf_add_all(apart, ARRAY[i % 200]);
	END LOOP;
	RAISE NOTICE 'hot: %', (SELECT string_agg(item || ' ' || hits_from, ', ' ORDER BY item) FROM tbf_top(hot));
	RAISE NOTICE 'never too few: %', (SELECT bool_and(raised -> i BETWEEN 2 AND 1e300 AND apart -> i BETWEEN 2 AND 1e300) FROM generate_series(0, 199) i);
END
$$;
