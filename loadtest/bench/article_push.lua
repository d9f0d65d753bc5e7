-- The article's producer: appends an event to a game's list, and removes the oldest event
-- if the list is over its bound.
-- KEYS 1: the list
-- ARGV 1: the event, 2: the bound, 3: how long the list is kept after it, ms
-- Returns 1 if an event was taken off, else 0.
local evicted = 0
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then
  redis.call('LPOP', KEYS[1])
  evicted = 1
end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return evicted
