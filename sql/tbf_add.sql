-- tbf_add: one hit, or one for each element of an array

SET timezone = 'UTC';
-- undecayed: one by one, all at once and as an aggregate are the same
SELECT tbf_add(tbf_add(tbf_add(e, 1), 2), 1) = tbf_add_all(e, '{1,2,1}'::int[]) AS same, tbf_add_all(e, '{1,2,1}'::int[]) = tbf_add_all(tbf_add_all(e, '{1,1}'::int[]), '{2}'::int[]) AS same,
	tbf_add(e, 1, now(), 5) = tbf_add_all(e, '{1,1,1,1,1}'::int[]) AS weight, tbf_add_all(e, '{1,2}'::int[], now(), 3) = tbf_add(tbf_add(e, 2, now(), 3), 1, now(), 3) AS weight FROM tbf_empty(100, 0.01, NULL) e;
-- no elements, or only nulls, or weight 0: the same filter (except its kind)
SELECT tbf_add_all(f, '{}'::int[]) = f AS empty, tbf_add_all(f, '{NULL}'::int[]) = f AS nulls, tbf_add(f, 1, now(), 0) = f AS no_weight, tbf_add_all(f, '{7,8}'::int[], now(), 0) = f AS no_weight
FROM (VALUES (tbf_add(tbf_empty(10, 0.01, '1 day'), 1, '2024-01-01')), (tbf_add(tbf_empty(10, 0.01, NULL), 1))) v (f);
SELECT tbf_add_all(e, '{}'::int[]) = e AS empty, tbf_add_all(e, '{NULL}'::text[]) = e AS nulls FROM tbf_empty() e;
SELECT tbf_add_all(e, '{{1,2},{3,NULL}}'::int[], '2024-01-01') = tbf_add_all(e, '{1,2,3}'::int[], '2024-01-01') AS dimensions FROM tbf_empty(10) e;

-- decaying: each store may round up by a unit, and never down
SELECT setseed(0.5);
CREATE FUNCTION pg_temp.one_by_one(half_life interval, hits int, OUT never_below boolean, OUT hardly_above boolean) LANGUAGE plpgsql AS $$
DECLARE
	f tbf := tbf_empty(1000, 0.001, half_life, half_life);
	at timestamptz := '2000-01-01';
	exact float8[] := array_fill(0::float8, ARRAY[10]);
	item int;
	weight float8;
	step int;
BEGIN
	never_below := true;
	hardly_above := true;
	FOR i IN 1 .. hits LOOP
		item := 1 + floor(random() * 10);
		weight := floor(random() * 20) / 4;
		IF random() < 0.3 THEN
			step := ceil(power(random(), 2) * 6);
			at := at + step * half_life;
			FOR j IN 1 .. 10 LOOP
				exact[j] := exact[j] / power(2::float8, step);
			END LOOP;
		END IF;
		exact[item] := exact[item] + weight;
		f := tbf_add(f, item, at, weight);
		FOR j IN 1 .. 10 LOOP
			never_below := never_below AND tbf_count(f, j, at) >= exact[j];
		END LOOP;
	END LOOP;
	FOR j IN 1 .. 10 LOOP
		hardly_above := hardly_above AND tbf_count(f, j, at) <= exact[j] * 1.001 + 1;
	END LOOP;
END
$$;
SELECT * FROM pg_temp.one_by_one('1 day', 300);
SELECT * FROM pg_temp.one_by_one('1 minute', 300);

-- one hit a half-life goes on for ever, whatever it weighs and wherever the filter began
CREATE FUNCTION pg_temp.goes_on(begin_at timestamptz, weight float8) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	f tbf := tbf_empty(10, 0.01, '1 day');
	at timestamptz := begin_at;
	exact float8 := 0;
BEGIN
	FOR i IN 1 .. 200 LOOP
		at := at + interval '1 day';
		exact := exact / 2 + weight;
		f := tbf_add(f, 'a', at, weight);
		IF tbf_count(f, 'a', at) < exact OR tbf_count(f, 'a', at) > exact * 1.001 + 1 THEN
			RETURN false;
		END IF;
	END LOOP;
	RETURN true;
END
$$;
SELECT begin_at, weight, pg_temp.goes_on(begin_at, weight) FROM unnest('{2000-01-01,2000-01-08,2000-01-15}'::timestamptz[]) begin_at, unnest('{1,10,1e6,4e9}'::float8[]) weight ORDER BY begin_at, weight;

-- a filter is unchanged by what is made of it
SELECT f -> 1 AS before, g -> 1 AS after FROM tbf_add(tbf_empty(10, 0.01, NULL), 1) f, tbf_add(f, 1, now(), 9) g;
-- items of every size of counter: 8, 16, 32, 64 bits
SELECT e, (tbf_info(f)).cell_bits, f -> 1 = power(2::float8, e) AS exact, f -> 2 AS other FROM unnest('{0,7,8,15,16,31,32}'::int[]) e, tbf_add(tbf_empty(1000, 0.001, NULL), 1, now(), power(2::float8, e)) f ORDER BY e;
SELECT (tbf_info(f)).cell_bits, f -> 1 = 10 * power(2::float8, 32) AS exact FROM (SELECT tbf_agg(1, NULL, NULL, power(2::float8, 32), 10, 0.01) AS f FROM generate_series(1, 10)) s;

-- too much for a counter
SELECT tbf_add(tbf_empty(10, 0.01, NULL), 1, now(), 1e12);
SELECT sqlstate_of('SELECT tbf_add(tbf_empty(), 1, now(), 1e12)'), sqlstate_of('SELECT tbf_add(tbf_empty(), 1, now(), -1)'), sqlstate_of('SELECT tbf_add_all(tbf_empty(), ARRAY[1], now(), ''NaN'')');
