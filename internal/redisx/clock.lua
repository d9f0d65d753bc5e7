-- The time of the master that owns the key.
-- KEYS 1: the key, only to find that master: another answers MOVED
-- ARGV none
-- returns {Unix seconds, microseconds of the second} as TIME does
return redis.call('TIME')
