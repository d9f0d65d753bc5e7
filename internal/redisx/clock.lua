-- Returns the time of the master that owns the key.
-- KEYS 1: the key, only to find its master. Other servers answer MOVED.
-- ARGV none.
-- Returns {Unix seconds, microseconds of the second}, like TIME.
return redis.call('TIME')
