-- 25-decay.sql: decay functions. Each gives the weight of a hit by its age, for hits in a tbf without a half-life
-- (docs/tbf.md).

CREATE FUNCTION decay_exponential(age interval, half_life interval DEFAULT '7 days') RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_exponential(interval, interval) IS 'weight of a hit of this age: 2^(-age / half_life). A negative age counts as 0. No interval may have months; half_life: from 1 microsecond to 36,500 years';
CREATE FUNCTION decay_window(age interval, width interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_window(interval, interval) IS 'weight of a hit of this age: 1 while the age is less than width, then 0 (sliding window)';
CREATE FUNCTION decay_polynomial(age interval, exponent double precision, scale interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polynomial(interval, double precision, interval) IS 'weight of a hit of this age: (1 + age / scale)^(-exponent), exponent > 0 (Cohen, Strauss 2003)';
CREATE FUNCTION decay_polyexponential(age interval, degree integer, scale interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polyexponential(interval, integer, interval) IS 'weight of a hit of this age: 1 until degree * scale, then x^k e^(-x) over its largest value, with x = age / scale, k = degree (0 or more) (Cohen, Strauss 2003)';
CREATE FUNCTION decay_polyexponential(age interval, degree integer, scale interval, bucket interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polyexponential(interval, integer, interval, interval) IS 'largest weight of a hit between age and age + bucket, by x^k e^(-x) over its largest value, with x = age / scale, k = degree (0 or more)';
CREATE FUNCTION decay_linear(age interval, width interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_linear(interval, interval) IS 'weight of a hit of this age: 1 - age / width, then 0 (chordal decay, Cohen, Strauss 2003)';
CREATE FUNCTION decay_polygonal(age interval, ages interval[], weights double precision[]) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polygonal(interval, interval[], double precision[]) IS 'weight of a hit of this age: straight lines between the points (ages[i], weights[i]), the last weight after them. Ages must not fall; weights must lie between 0 and 1 and not rise (Cohen, Strauss 2003)';
