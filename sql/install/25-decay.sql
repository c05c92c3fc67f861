-- 25-decay.sql: weights by age, for merging undecayed filters by any decay function (docs/decay.md)

CREATE FUNCTION decay_exponential(age interval, half_life interval DEFAULT '7 days') RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_exponential(interval, interval) IS 'weight of a hit of this age: 2^(-age / half_life)';
CREATE FUNCTION decay_window(age interval, width interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_window(interval, interval) IS 'weight of a hit of this age: 1 while the age is less than width, then 0 (sliding window)';
CREATE FUNCTION decay_polynomial(age interval, exponent double precision, scale interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polynomial(interval, double precision, interval) IS 'weight of a hit of this age: (1 + age / scale)^(-exponent)';
CREATE FUNCTION decay_polyexponential(age interval, degree integer, scale interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polyexponential(interval, integer, interval) IS 'weight of a hit of this age: 1 until degree * scale, then x^k e^(-x) divided by its largest value, where x = age / scale and k = degree';
CREATE FUNCTION decay_polyexponential(age interval, degree integer, scale interval, bucket interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polyexponential(interval, integer, interval, interval) IS 'largest weight of a hit between age and age + bucket: x^k e^(-x) divided by its largest value, where x = age / scale and k = degree';
CREATE FUNCTION decay_linear(age interval, width interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_linear(interval, interval) IS 'weight of a hit of this age: 1 - age / width, then 0 (chordal decay)';
CREATE FUNCTION decay_polygonal(age interval, ages interval[], weights double precision[]) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polygonal(interval, interval[], double precision[]) IS 'weight of a hit of this age: straight lines between the points (ages[i], weights[i]); the last weight after the last point';
